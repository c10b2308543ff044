import { randomBytes, randomUUID } from 'node:crypto';

import type { Provider } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import { effectiveLifetimes } from '../clients/lifetimes.ts';
import { now } from '../contracts/clock.ts';
import type { AuditLog, Client, Storage } from '../contracts/index.ts';
import { ClientNotFoundError, ConfigError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import { checkDuration } from '../options/checks.ts';
import type { Duration } from '../contracts/duration.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { describeResource } from './scopes.ts';

/** Whom an access token of `auth.issueToken()` is for, and how. */
export interface IssueTokenOptions {
  /** A `client_id`: the client that the user authorizes by this, or that acts for itself. It must be enabled. */
  readonly client: string;
  /**
   * A user's id, with a client of the grant type `authorization_code`. Left out: the client acts for itself, and its grant type
   * is `client_credentials`.
   */
  readonly user?: string;
  /** Among those that the client may ask for. @default those that the client is registered with, else none, which limits nothing */
  readonly scopes?: readonly string[];
  /** From a second to the client's own `lifetimes.accessToken`, or the server's. @default the longest that there may be */
  readonly lifetime?: Duration;
}

/** What issuing asks of the rest of the server. */
export interface IssueTokenPorts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clients: Pick<ClientDirectory, 'find'>;
  readonly provider: () => Provider;
  readonly storage: Pick<Storage, 'credentials' | 'revocations'>;
}

type Settings = Pick<ResolvedOptions, 'issuer' | 'lifetimes' | 'scopes' | 'signingAlgorithm' | 'users'>;

/**
 * Makes `auth.issueToken()`: the engine signs the token as any other. A user's token gets a grant of its own, so that whatever
 * revokes tokens of users revokes it.
 */
export function createIssueToken(
  settings: Settings,
  { audit, clients, provider, storage }: IssueTokenPorts,
): (options: IssueTokenOptions) => Promise<string> {
  const { issuer, users } = settings;

  return async function issueToken(given) {
    const { clientId, lifetime: wantedLifetime, scopes: wanted, userId } = checkOptions(given);
    // Read before anything else is: what is revoked from here on revokes this token too.
    const sequence = await storage.revocations.sequence();
    const client = (await clients.find(clientId))?.client;
    if (!client) throw new ClientNotFoundError(clientId);
    checkClient(client, userId);
    const lifetime = lifetimeFor(client, wantedLifetime, settings.lifetimes);
    const scopes = scopesFor(client, wanted, settings.scopes);
    if (userId !== undefined && !(await users.find(userId))) {
      throw new ConfigError('issueToken({ user })', 'users.find() finds no user with this id');
    }

    const { AccessToken, Client: EngineClient, ClientCredentials, ResourceServer } = provider();
    const engineClient = await EngineClient.find(clientId);
    // Deleted or disabled meanwhile.
    if (!engineClient) throw new ClientNotFoundError(clientId);
    const scope = scopes.join(' ');
    const resourceServer = new ResourceServer(issuer, describeResource(settings, scopes));
    const common = { client: engineClient, resourceServer, scope, expiresIn: lifetime };
    if (userId === undefined) {
      const token = await new ClientCredentials(common).save();
      audit.record({ type: 'token_issued', clientId, grantType: BY_HOST });
      return token;
    }
    const grantId = await startGrant(storage, { clientId, userId, scopes, lifetime, sequence });
    const token = await new AccessToken({
      ...common,
      accountId: userId,
      grantId,
      gty: 'authorization_code',
    }).save();
    audit.record({ type: 'token_issued', clientId, userId, grantId, grantType: BY_HOST });
    return token;
  };
}

// The grant type of these tokens in the record: no request asked for them.
const BY_HOST = 'host';

const MEMBERS: ReadonlySet<string> = new Set<keyof IssueTokenOptions>([
  'client',
  'user',
  'scopes',
  'lifetime',
]);

interface CheckedOptions {
  readonly clientId: string;
  readonly userId: string | undefined;
  readonly scopes: readonly string[] | undefined;
  /** In seconds. */
  readonly lifetime: number | undefined;
}

function checkOptions(given: IssueTokenOptions): CheckedOptions {
  // A misspelt `user` would be a token for the client itself.
  const unknown = Object.keys(given ?? {}).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) {
    throw new ConfigError(
      `issueToken({ ${unknown} })`,
      `there is no such member; the members are ${[...MEMBERS].join(', ')}`,
    );
  }
  const { client, user, scopes, lifetime } = given ?? {};
  if (!isId(client)) throw new ConfigError('issueToken({ client })', 'pass a client_id, such as client.id');
  if (user !== undefined && !isId(user)) {
    throw new ConfigError('issueToken({ user })', "pass a user's id, or leave it out for the client itself");
  }
  if (
    scopes !== undefined &&
    !(Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string'))
  ) {
    throw new ConfigError('issueToken({ scopes })', "list scopes by name, such as ['schools:read']");
  }
  return {
    clientId: client,
    userId: user,
    scopes,
    lifetime: lifetime === undefined ? undefined : checkDuration('issueToken({ lifetime })', lifetime, 1),
  };
}

/** In seconds: what was asked for, as far as the client and the server allow it. */
function lifetimeFor(
  client: Client,
  wanted: number | undefined,
  server: ResolvedOptions['lifetimes'],
): number {
  const { accessToken: most } = effectiveLifetimes(client, server);
  if (wanted === undefined || wanted <= most) return wanted ?? most;
  throw new ConfigError(
    'issueToken({ lifetime })',
    wanted > server.accessToken
      ? // Signing keys are published until the last token of that age has expired, and no longer.
        `at most lifetimes.accessToken, which is ${server.accessToken} s; a token cannot outlive the key that signed it`
      : `at most the lifetimes.accessToken of the client ${client.id}, which is ${most} s`,
  );
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function checkClient({ disabled, grantType, id }: Client, userId: string | undefined): void {
  if (disabled) {
    throw new ConfigError('issueToken({ client })', `the client ${id} is disabled; enable it first`);
  }
  if (userId === undefined && grantType === 'authorization_code') {
    throw new ConfigError(
      'issueToken({ user })',
      `the client ${id} acts for users only (grant type authorization_code); pass the id of a user`,
    );
  }
  if (userId !== undefined && grantType === 'client_credentials') {
    throw new ConfigError(
      'issueToken({ user })',
      `the client ${id} acts for itself only (grant type client_credentials); leave user out, or pass another client`,
    );
  }
}

function scopesFor(
  client: Client,
  wanted: readonly string[] | undefined,
  known: ResolvedOptions['scopes'],
): readonly string[] {
  const option = 'issueToken({ scopes })';
  for (const name of wanted ?? []) {
    if (!known.has(name)) throw new ConfigError(option, `the server has no scope "${name}"`);
    if (client.scopes && !client.scopes.includes(name)) {
      throw new ConfigError(option, `the client ${client.id} may not ask for the scope "${name}"`);
    }
  }
  if (wanted !== undefined && wanted.length > 0) return [...new Set(wanted)];
  const registered = client.scopes;
  const scopes = (registered ?? []).filter((name) => known.has(name));
  if (registered && scopes.length === 0) {
    throw new ConfigError(
      option,
      `the client ${client.id} is registered for no scope of this server, so a token would have no permission`,
    );
  }
  return scopes;
}

/** Starts a grant whose code nobody has, and which lasts as long as the token. */
async function startGrant(
  { credentials }: Pick<Storage, 'credentials'>,
  {
    lifetime,
    ...about
  }: { clientId: string; userId: string; scopes: readonly string[]; lifetime: number; sequence: number },
): Promise<string> {
  const id = randomUUID();
  const createdAt = now();
  const expiresAt = createdAt + lifetime;
  await credentials.start(
    { ...about, id, createdAt, expiresAt, revokedAt: undefined },
    {
      kind: 'code',
      id: hashCredential(randomBytes(32).toString('base64url')),
      grantId: id,
      payload: {},
      expiresAt,
      consumedAt: createdAt * 1000,
      sealedSuccessor: undefined,
    },
  );
  return id;
}

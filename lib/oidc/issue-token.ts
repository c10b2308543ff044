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
import { requireResource } from '../options/resources.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import { besidesDefault } from './resource-parameter.ts';
import { describeResource } from './scopes.ts';
import { setClientSequence } from './token-claims.ts';

/** The client, the user, the scopes and the lifetime of a token that `auth.issueToken()` issues. */
export interface IssueTokenOptions {
  /** The `client_id` of an enabled client. */
  readonly client: string;
  /**
   * The id of the user whom the token speaks for; the client's grant type is `authorization_code` or `device_code`. Without it the token speaks
   * for the client itself, and the grant type is `client_credentials`.
   */
  readonly user?: string;
  /**
   * Scopes that the client may request. A token without scopes is not limited to any.
   * @default the scopes that the client is registered with, else none
   */
  readonly scopes?: readonly string[];
  /** The API that the token is for: the issuer or one of the option `resources`. @default the issuer */
  readonly resource?: string;
  /** At least a second, at most `lifetimes.accessToken` of the client, the API or the server. @default that maximum */
  readonly lifetime?: Duration;
}

/** The parts of the server that issuing needs. */
export interface IssueTokenParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clients: Pick<ClientDirectory, 'find'>;
  readonly provider: () => Provider;
  readonly storage: Pick<Storage, 'credentials' | 'revocations'>;
}

type Settings = Pick<ResolvedOptions, 'issuer' | 'lifetimes' | 'resources' | 'signingAlgorithm' | 'users'>;

/**
 * Makes `auth.issueToken()`. The engine signs the token in the same way as its own. A user's token gets a grant, so that each
 * way of revoking a user's tokens revokes it too.
 */
export function createIssueToken(
  settings: Settings,
  { audit, clients, provider, storage }: IssueTokenParts,
): (options: IssueTokenOptions) => Promise<string> {
  const { issuer, users } = settings;

  return async function issueToken(options) {
    const { clientId, lifetime: requestedLifetime, scopes: requested, userId } = checkOptions(options);
    const api = requireResource('issueToken({ resource })', options.resource ?? issuer, settings.resources);
    // Read before the client and the user, so that ending either of them from here on revokes this token too.
    const sequence = await storage.revocations.sequence();
    const stored = await clients.find(clientId);
    if (!stored) throw new ClientNotFoundError(clientId);
    const { client } = stored;
    checkClient(client, userId);
    const lifetime = lifetimeFor(client, requestedLifetime, api.lifetimes);
    const scopes = scopesFor(client, requested, api);
    if (userId !== undefined && !(await users.find(userId))) {
      throw new ConfigError('issueToken({ user })', 'users.find() finds no user with this id');
    }

    const { AccessToken, Client: EngineClient, ClientCredentials, ResourceServer } = provider();
    const engineClient = await EngineClient.find(clientId);
    // Deleted or disabled since the check above.
    if (!engineClient) throw new ClientNotFoundError(clientId);
    const scope = scopes.join(' ');
    const resourceServer = new ResourceServer(api.resource, describeResource(settings, api, scopes));
    const resource = besidesDefault(api.resource, issuer);
    const common = { client: engineClient, resourceServer, scope, expiresIn: lifetime };
    if (userId === undefined) {
      const clientToken = new ClientCredentials(common);
      setClientSequence(clientToken, stored.sequence);
      const token = await clientToken.save();
      audit.record({ type: 'token_issued', clientId, resource, grantType: BY_HOST });
      return token;
    }
    const grantId = await startGrant(storage, { clientId, userId, scopes, lifetime, sequence });
    const token = await new AccessToken({
      ...common,
      accountId: userId,
      grantId,
      gty: 'authorization_code',
    }).save();
    audit.record({ type: 'token_issued', clientId, userId, grantId, resource, grantType: BY_HOST });
    return token;
  };
}

// The `grantType` of these tokens in the audit record, because no token request issued them.
const BY_HOST = 'host';

const OPTION_NAMES: ReadonlySet<string> = new Set<keyof IssueTokenOptions>([
  'client',
  'user',
  'scopes',
  'resource',
  'lifetime',
]);

interface CheckedOptions {
  readonly clientId: string;
  readonly userId: string | undefined;
  readonly scopes: readonly string[] | undefined;
  /** In seconds. */
  readonly lifetime: number | undefined;
}

function checkOptions(options: IssueTokenOptions): CheckedOptions {
  // A misspelt `user` would be a token for the client itself.
  const unknown = Object.keys(options ?? {}).find((name) => !OPTION_NAMES.has(name));
  if (unknown !== undefined) {
    throw new ConfigError(
      `issueToken({ ${unknown} })`,
      `there is no such member; the members are ${[...OPTION_NAMES].join(', ')}`,
    );
  }
  const { client, user, scopes, lifetime } = options ?? {};
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

/** The lifetime in seconds. @throws ConfigError when it is longer than the client or the server allows */
function lifetimeFor(
  client: Client,
  requested: number | undefined,
  server: ResolvedResource['lifetimes'],
): number {
  const { accessToken: max } = effectiveLifetimes(client, server);
  if (requested === undefined || requested <= max) return requested ?? max;
  throw new ConfigError(
    'issueToken({ lifetime })',
    requested > server.accessToken
      ? // A retired signing key is published for as long as the server's longest token, and no longer.
        `at most lifetimes.accessToken, which is ${server.accessToken} s; a token cannot outlive the key that signed it`
      : `at most the lifetimes.accessToken of the client ${client.id}, which is ${max} s`,
  );
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function checkClient({ disabled, grantType, id }: Client, userId: string | undefined): void {
  if (disabled) {
    throw new ConfigError('issueToken({ client })', `the client ${id} is disabled; enable it first`);
  }
  if (userId === undefined && grantType !== 'client_credentials') {
    throw new ConfigError(
      'issueToken({ user })',
      `the client ${id} acts for users only (grant type ${grantType}); pass the id of a user`,
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
  requested: readonly string[] | undefined,
  { metadataUrl, scopes: known }: ResolvedResource,
): readonly string[] {
  const option = 'issueToken({ scopes })';
  for (const name of requested ?? []) {
    if (!known.has(name)) {
      const owner = metadataUrl === undefined ? 'server' : 'API';
      throw new ConfigError(option, `the ${owner} has no scope "${name}"`);
    }
    if (client.scopes && !client.scopes.includes(name)) {
      throw new ConfigError(option, `the client ${client.id} may not ask for the scope "${name}"`);
    }
  }
  if (requested !== undefined && requested.length > 0) return [...new Set(requested)];
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

/**
 * Stores a grant that lasts as long as the token. A grant is stored with a code, so it gets a spent one whose value is
 * discarded.
 */
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

import { randomBytes, randomUUID } from 'node:crypto';

import { toMilliseconds } from '../contracts/duration.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import { now } from '../contracts/clock.ts';
import type { AuditLog, Client, Seconds, Storage } from '../contracts/index.ts';
import { ClientNotFoundError, ConfigError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import type { Check, Given } from '../options/declare.ts';
import { requireResource } from '../options/resources.ts';
import { scopeNames } from '../options/scopes.ts';
import { lifetimeCheck } from '../options/lifetimes.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import { effectiveLifetimes } from './access-token.ts';
import type { SignAccessToken } from './access-token.ts';
import { besidesDefault } from '../engine/resource-parameter.ts';

const idOr =
  (remedy: string): Check<string> =>
  (place, given: unknown) => {
    if (typeof given === 'string' && given !== '') return given;
    throw new ConfigError(place, remedy);
  };

const ISSUE_TOKEN = {
  /** The `client_id` of an enabled client. */
  clientId: idOr('pass a client_id, such as client.id'),
  /**
   * The id of the user whom the token speaks for; the client is of a kind that acts for users. Without it the token
   * speaks for the client itself, and the grant type is `client_credentials`.
   */
  userId: optional(idOr("pass a user's id, or leave it out for the client itself")),
  /**
   * Scopes that the client may request. A token without scopes is not limited to any.
   * @default the scopes that the client is registered with, else none
   */
  scopes: optional(scopeNames),
  /** The API that the token is for: the issuer or one of the option `resources`. @default the issuer */
  resource: optional(unchecked<string>),
  /** At least a second, at most `lifetimes.accessToken` of the client, the API or the server. @default that maximum */
  lifetime: optional(lifetimeCheck),
};

/** The client, the user, the scopes and the lifetime of a token that `auth.issueToken()` issues. */
export interface IssueTokenOptions extends Given<typeof ISSUE_TOKEN> {}

/** The parts of the server that issuing needs. */
export interface IssueTokenParts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clients: Pick<ClientDirectory, 'find'>;
  readonly signAccessToken: SignAccessToken;
  readonly storage: Pick<Storage, 'grants' | 'revocations'>;
}

type TokenSettings = ResolvedOptions;

/**
 * Makes `auth.issueToken()`. A user's token gets a grant, so that each
 * way of revoking a user's tokens revokes it too.
 */
export function createIssueToken(
  settings: TokenSettings,
  { audit, clients, signAccessToken, storage }: IssueTokenParts,
): (options: IssueTokenOptions) => Promise<string> {
  const { issuer, users } = settings;

  return async function issueToken(options) {
    // An unknown name is refused: a misspelt `user` would be a token for the client itself.
    const {
      clientId,
      lifetime: requestedLifetime,
      resource: requestedApi = issuer,
      scopes: requested,
      userId,
    } = readOptions(ISSUE_TOKEN, options, 'issueToken()');
    const api = requireResource('issueToken({ resource })', requestedApi, settings.resources);
    // Read before the client and the user, so that ending either of them from here on revokes this token too.
    const sequence = await storage.revocations.latestSequence();
    const stored = await clients.find(clientId);
    if (!stored) throw new ClientNotFoundError(clientId);
    const { client } = stored;
    checkClient(client, userId);
    const lifetime = lifetimeFor(client, requestedLifetime, api.lifetimes);
    const scopes = scopesFor(client, requested, api);
    const user = userId === undefined ? undefined : await users.find(userId);
    if (userId !== undefined && !user)
      throw new ConfigError('issueToken({ userId })', 'users.find() finds no user with this id');
    const grant = user && {
      id: await startGrant(storage, { clientId, userId: user.id, scopes, lifetime, sequence }),
      user,
    };
    const token = await signAccessToken({
      api,
      client,
      grant,
      lifetime,
      scopes: scopes.length > 0 ? scopes : undefined,
      clientSequence: stored.sequence,
    });
    const resource = besidesDefault(api.resource, issuer);
    audit.record({
      type: 'token_issued',
      clientId,
      userId,
      grantId: grant?.id,
      resource,
      grantType: BY_HOST,
    });
    return token;
  };
}

// The `grantType` of these tokens in the audit record, because no token request issued them.
const BY_HOST = 'host';

/** The lifetime in seconds. @throws ConfigError when it is longer than the client or the server allows */
function lifetimeFor(
  client: Client,
  requested: Seconds | undefined,
  server: ResolvedResource['lifetimes'],
): Seconds {
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

function checkClient({ disabled, grantType, id }: Client, userId: string | undefined): void {
  if (disabled) {
    throw new ConfigError('issueToken({ clientId })', `the client ${id} is disabled; enable it first`);
  }
  if (userId === undefined && grantType !== 'client_credentials') {
    throw new ConfigError(
      'issueToken({ userId })',
      `the client ${id} acts for users only (grant type ${grantType}); pass the id of a user`,
    );
  }
  if (userId !== undefined && grantType === 'client_credentials') {
    throw new ConfigError(
      'issueToken({ userId })',
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
  { grants }: Pick<Storage, 'grants'>,
  {
    lifetime,
    ...about
  }: { clientId: string; userId: string; scopes: readonly string[]; lifetime: Seconds; sequence: number },
): Promise<string> {
  const id = randomUUID();
  const createdAt = now();
  const expiresAt = createdAt + lifetime;
  await grants.insert(
    { ...about, id, createdAt, expiresAt, revokedAt: undefined, sessionUid: undefined, origin: undefined },
    {
      kind: 'code',
      id: hashCredential(randomBytes(32).toString('base64url')),
      grantId: id,
      payload: {},
      expiresAt,
      consumedAt: toMilliseconds(createdAt),
      sealedSuccessor: undefined,
    },
  );
  return id;
}

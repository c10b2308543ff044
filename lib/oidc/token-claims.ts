import type { AccessToken, ClientCredentials, Configuration, KoaContextWithOIDC } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { AccessTokenClaims, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { TokenClaims } from '../options/options.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { currentRequest } from './engine-request.ts';
import { isLimitedToNoScope } from './scopes.ts';

type ExtraTokenClaims = NonNullable<Configuration['extraTokenClaims']>;

/** Claims of this server besides those of RFC 9068. The guard refuses a token without them. */
const SERVER_CLAIMS = ['principal', 'grant_id', 'revocation_sequence', 'limited'] as const;

/** Names that a claim of the host may not have, because readers of tokens or introspection responses give them a meaning. */
const RESERVED: ReadonlySet<string> = new Set<string>([
  ...SERVER_CLAIMS,
  // RFC 7519 section 4.1, RFC 9068 section 2.2
  ...'iss sub aud exp nbf iat jti client_id scope auth_time acr amr'.split(' '),
  // RFC 7800, RFC 8693 section 4, RFC 9396 section 9.1
  ...'cnf act may_act authorization_details'.split(' '),
  // RFC 7662 section 2.2
  ...'active token_type username'.split(' '),
]);

const clientSequences = new WeakMap<object, number>();

/** Sets `StoredClient.sequence` for a client's token that no request issues: that of the moment when the client was checked. */
export function setClientSequence(token: ClientCredentials, sequence: number): void {
  clientSequences.set(token, sequence);
}

/** Makes the function that adds the server's own claims: the principal, its grant or `revocation_sequence`, and the limit. */
export function createServerClaims(clients: Pick<ClientDirectory, 'find'>): ExtraTokenClaims {
  return async function serverClaims(_ctx, token) {
    const request = currentRequest();
    const claims: Record<string, unknown> = {};
    if (request && isLimitedToNoScope(request)) claims['limited'] = true;
    if ('grantId' in token && token.grantId)
      return Object.assign(claims, { principal: 'user', grant_id: token.grantId });
    // The number from before the token was issued, so that a client that was ended since gets a token that is revoked.
    const sequence =
      clientSequences.get(token) ??
      request?.clientSequence ??
      (await clients.find(token.clientId!))?.sequence ??
      0;
    if (sequence > 0) claims['revocation_sequence'] = sequence;
    claims['principal'] = 'client';
    return claims;
  };
}

/**
 * Adds the claims of the option `tokenClaims`, and restores the server's own claims when `configure` replaced the hook: tokens
 * without them would be issued, and every guard would refuse them.
 */
export function createReserveClaims(
  // Read before `configure` runs, because `configure` may change the configuration in place.
  { extraTokenClaims: serverClaims }: Configuration,
  {
    clients,
    tokenClaims,
    users,
  }: { clients: Pick<ClientDirectory, 'find'> } & Pick<ResolvedOptions, 'tokenClaims' | 'users'>,
): (configuration: Configuration) => Configuration {
  return function reserveClaims(configuration) {
    const { extraTokenClaims } = configuration;
    if (extraTokenClaims === serverClaims && !tokenClaims) return configuration;
    return {
      ...configuration,
      async extraTokenClaims(ctx, token) {
        const configured =
          extraTokenClaims === serverClaims ? undefined : await extraTokenClaims?.(ctx, token);
        const claims: Record<string, unknown> = { ...configured };
        for (const name of SERVER_CLAIMS) delete claims[name];
        if (tokenClaims) Object.assign(claims, await claimsOfHost(tokenClaims, ctx, token));
        return Object.assign(claims, await serverClaims?.(ctx, token));
      },
    };
  };

  async function claimsOfHost(
    hostClaims: TokenClaims,
    ctx: KoaContextWithOIDC | undefined,
    token: AccessToken | ClientCredentials,
  ): Promise<object | undefined> {
    const client = (await clients.find(token.clientId!))?.client;
    const scopes = token.scope?.split(' ').filter(Boolean) ?? [];
    // Deleted since it was authenticated: the guard refuses the token.
    if (!client) return undefined;
    if (!('accountId' in token)) {
      return checkClaims(await hostClaims({ user: undefined, client, scopes, grantId: undefined }));
    }
    const { accountId, grantId } = token;
    const user = userOf(ctx?.oidc.account) ?? (await users.find(accountId));
    return user && checkClaims(await hostClaims({ user, client, scopes, grantId }));
  }
}

function checkClaims(claims: unknown): object | undefined {
  if (claims === undefined) return undefined;
  if (Object.prototype.toString.call(claims) !== '[object Object]') {
    throw new ConfigError('tokenClaims', "return an object such as { tenant: 'north' }, or undefined");
  }
  const reserved = Object.keys(claims as object).filter((name) => RESERVED.has(name));
  if (reserved.length > 0) {
    throw new ConfigError(
      'tokenClaims',
      `leave out ${reserved.join(', ')}: these claim names are reserved for the server and the standards; choose others, such as a URL of yours`,
    );
  }
  try {
    // A copy in the form that the token will have, so that the host cannot change the object later.
    return JSON.parse(JSON.stringify(claims)) as object;
  } catch (cause) {
    throw new ConfigError(
      'tokenClaims',
      `return a value that can be written as JSON: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** The claims that the host added to a verified token. */
export function hostClaimsOf(claims: AccessTokenClaims): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !RESERVED.has(name)));
}

// A property of the engine's account, so that the user is read once per request.
const USER = Symbol('gatehouse.user');

/** The engine's account of a user. */
export function toAccount(user: User): { accountId: string; claims: () => Promise<{ sub: string }> } {
  const account = { accountId: user.id, claims: () => Promise.resolve({ sub: user.id }), [USER]: user };
  return account;
}

function userOf(
  account: { readonly accountId: string; readonly [USER]?: User } | undefined,
): User | undefined {
  return account?.[USER];
}

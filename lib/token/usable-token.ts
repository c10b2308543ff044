import { scopeLimit } from '../clients/consents.ts';
import type { ScopeLimit } from '../clients/consents.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import type { AccessTokenClaims, Client, Milliseconds } from '../contracts/index.ts';
import type { EndMissingUser } from './revoke.ts';
import { allowedScopes, splitScope, stillAllowed } from './scopes.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/** Whom a token speaks for and what it is for, whatever its form: an access token, a code, a refresh token, a personal one. */
export interface TokenSubject {
  /** `undefined`: a personal access token, which belongs to no client. */
  readonly clientId: string | undefined;
  /** `undefined`: it speaks for the client itself, or a user has not answered yet. */
  readonly userId: string | undefined;
  /** The URL of its API; that of the userinfo endpoint for a token that has scopes of OpenID Connect only. */
  readonly resource: string;
  /** What it was limited to when it was issued. */
  readonly limit: ScopeLimit;
}

/** What a token that may be used now depends on, as it is now. */
export interface UsableToken<H> {
  /** `undefined`: it belongs to none. */
  readonly client: Client | undefined;
  /** What `findUser` has found. `undefined`: it speaks for no user. */
  readonly user: H | undefined;
  /** What is left of its limit: only scopes that the server still defines and the client may still have. */
  readonly scopes: ScopeLimit;
  /** When its client began to be read; `undefined`: now. */
  readonly readAt: Milliseconds | undefined;
}

/** What is not there any more. `client`, `user`: removed, or disabled; of a client, also its kind. `api`: the options have lost it. */
export type TokenRefusal = 'revoked' | 'client' | 'user' | 'api';

/**
 * Says whether a token may be used now. Whatever accepts tokens asks here, so that no place forgets one of the conditions: it was not
 * revoked, and its client, its user and its API are there. What a stored token says by itself, such as its expiry, is checked before.
 *
 * A user who was removed is ended with all of the user's tokens, because the id may be given to somebody else.
 *
 * @param find.isActive - whether neither it, nor its grant, its user or its client was revoked. Left out: it was found in a store that
 * finds no other
 */
export type FindUsable = <H>(
  token: TokenSubject,
  find: {
    readonly findUser: (id: string) => Promise<H | undefined>;
    readonly isActive?: () => Promise<boolean>;
  },
) => Promise<UsableToken<H> | TokenRefusal>;

export function createFindUsable(
  options: Pick<ResolvedOptions, 'aboutUser'> & {
    readonly resources: ReadonlyMap<string, { readonly scopes: ReadonlyMap<string, unknown> }>;
  },
  {
    clients,
    endMissingUser,
  }: { readonly clients: Pick<ClientDirectory, 'findDated'>; readonly endMissingUser: EndMissingUser },
): FindUsable {
  const { aboutUser, resources } = options;

  return async function findUsable({ clientId, limit, resource, userId }, { findUser, isActive }) {
    const [found, user, active] = await Promise.all([
      clientId === undefined ? undefined : clients.findDated(clientId),
      userId === undefined ? undefined : findUser(userId),
      isActive === undefined || isActive(),
    ]);
    const client = found?.stored.client;
    if (userId !== undefined && user === undefined) {
      if (active) await endMissingUser(userId);
      return 'user';
    }
    if (clientId !== undefined && (client === undefined || client.disabled)) return 'client';
    if (!active) return 'revoked';
    const api = resource === aboutUser?.resource ? aboutUser : resources.get(resource);
    if (!api) return 'api';
    const scopes = client
      ? stillAllowed(limit, allowedScopes(client, api, options), aboutUser)
      : limit?.filter((name) => api.scopes.has(name));
    return { client, user, scopes, readAt: found?.readAt };
  };
}

/** What the claims of a verified access token say. */
export function subjectOf({
  aud,
  client_id: clientId,
  limited = false,
  principal,
  scope,
  sub,
}: AccessTokenClaims): TokenSubject {
  return {
    clientId,
    userId: principal === 'user' ? sub : undefined,
    resource: [aud].flat()[0]!,
    limit: scopeLimit(splitScope(scope), limited),
  };
}

import type { AccessToken, Client, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { StoredClient } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { EndMissingUser } from './revoke.ts';

type Token = AccessToken | ClientCredentials | RefreshToken;

// A client with this permission of the gate, such as an API in another process, may introspect the access tokens of all clients
// (RFC 7662 section 2).
const INTROSPECT_PERMISSION = 'introspect_tokens';

/** Finds the permissions that a client has for itself at this moment. */
export type FindClientPermissions = (
  client: StoredClient['client'],
) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;

/**
 * Decides which client may introspect which token. Otherwise, and when the token's user was deleted, the answer is inactive.
 */
export function createIntrospectionPolicy(
  { users }: Pick<ResolvedOptions, 'users'>,
  {
    clients,
    clientPermissions,
    endMissingUser,
  }: {
    clients: ClientDirectory;
    clientPermissions: FindClientPermissions;
    endMissingUser: EndMissingUser;
  },
): (ctx: KoaContextWithOIDC, client: Client, token: Token) => Promise<boolean> {
  async function mayIntrospect(client: Client, token: Token): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    if (token.clientId === client.clientId) return true;
    if (token.kind === 'RefreshToken') return false;
    const stored = await clients.find(client.clientId);
    return (
      stored !== undefined && (await clientPermissions(stored.client)).sources.has(INTROSPECT_PERMISSION)
    );
  }

  return async (_ctx, client, token) => {
    if (!(await mayIntrospect(client, token))) return false;
    if (!('accountId' in token) || (await users.find(token.accountId))) return true;
    // As the guard does, which the tokens of an API in another process may never meet.
    await endMissingUser(token.accountId);
    return false;
  };
}

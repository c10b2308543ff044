import type { AccessToken, Client, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';

import type { StoredClient } from '../contracts.ts';
import type { ResolvedOptions } from '../options.ts';
import type { ClientDirectory } from './client-directory.ts';

type Token = AccessToken | ClientCredentials | RefreshToken;

// An API in another process may ask about the access tokens that it is sent (RFC 7662 section 2): a client that holds
// this permission of the gate.
const PERMISSION = 'introspect_tokens';

/** What a client holds for itself, as of now. */
export type HeldByClient = (
  client: StoredClient['client'],
) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;

/** Says who may ask about which token. To others a token is not active, nor is it when its user is gone. */
export function createIntrospectionPolicy(
  { users }: Pick<ResolvedOptions, 'users'>,
  { clients, heldByClient }: { clients: ClientDirectory; heldByClient: HeldByClient },
): (ctx: KoaContextWithOIDC, client: Client, token: Token) => Promise<boolean> {
  async function mayAskAbout(client: Client, token: Token): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    if (token.clientId === client.clientId) return true;
    if (token.kind === 'RefreshToken') return false;
    const stored = await clients.find(client.clientId);
    return stored !== undefined && (await heldByClient(stored.client)).sources.has(PERMISSION);
  }

  return async (_ctx, client, token) => {
    if (!(await mayAskAbout(client, token))) return false;
    // The guard would refuse the token of a user who is gone.
    return !('accountId' in token) || (await users.find(token.accountId)) !== undefined;
  };
}

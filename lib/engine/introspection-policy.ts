import type { AccessToken, Client, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';

import type { ResolvedOptions } from '../options.ts';
import type { ClientDirectory } from './client-directory.ts';

type Token = AccessToken | ClientCredentials | RefreshToken;

// An API in another process may ask about the access tokens that it is sent (RFC 7662 section 2): a client that holds
// this permission of the gate.
const PERMISSION = 'introspect_tokens';

/** Says who may ask about which token. To others a token is not active, nor is it when its user is gone. */
export function createIntrospectionPolicy(
  { gate, users }: Pick<ResolvedOptions, 'gate' | 'users'>,
  clients: ClientDirectory,
): (ctx: KoaContextWithOIDC, client: Client, token: Token) => Promise<boolean> {
  async function mayAskAbout(client: Client, token: Token): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    if (token.clientId === client.clientId) return true;
    if (token.kind === 'RefreshToken') return false;
    const stored = await clients.find(client.clientId);
    return stored !== undefined && gate.effective(stored.client).has(PERMISSION);
  }

  return async (_ctx, client, token) => {
    if (!(await mayAskAbout(client, token))) return false;
    // The guard would refuse the token of a user who is gone.
    return !('accountId' in token) || (await users.find(token.accountId)) !== undefined;
  };
}

import type { Client, InteractionFlow } from '../../lib/contracts/index.ts';
import { firstCall } from '../../lib/first-call/first-call.ts';
import type { Connect } from './views.ts';

/** The URLs that an app needs, and how it gets a token and makes a first call. */
export function connectOf(client: Client, { apiUrl, basePath, origin }: InteractionFlow): Connect {
  const { confidential, grantType, id, keys, redirectUris } = client;
  const issuer = origin + basePath;
  return {
    authorizeUrl: grantType === 'authorization_code' ? `${issuer}/oauth/authorize` : undefined,
    deviceUrl: grantType === 'device_code' ? `${issuer}/oauth/device_authorization` : undefined,
    tokenUrl: `${issuer}/oauth/token`,
    examples: firstCall({
      issuer,
      clientId: id,
      grantType,
      proof: confidential ? (keys ? 'assertion' : 'secret') : 'none',
      redirectUri: redirectUris[0] ?? '',
      apiUrl,
    }),
  };
}

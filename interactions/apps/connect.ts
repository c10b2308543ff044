import type { Client } from '../../lib/contracts/index.ts';
import { firstCall } from '../../lib/first-call/first-call.ts';
import { discoveryUrl, signIn } from '../../lib/first-call/sign-in.ts';
import type { DeveloperRequest } from './developer-request.ts';
import type { Connect } from './views.ts';

/** The URLs that an app needs, how it gets a token and makes a first call, and how it signs users in. */
export function connectOf(
  client: Client,
  { developer, flow: { apiUrl, basePath, origin } }: Pick<DeveloperRequest, 'developer' | 'flow'>,
): Connect {
  const { confidential, grantType, id, keys, redirectUris, scopes } = client;
  const issuer = origin + basePath;
  const [redirectUri = ''] = redirectUris;
  const signsIn =
    developer.signsIn && grantType === 'authorization_code' && (scopes?.includes('openid') ?? true);
  const hasSecret = confidential && !keys;
  return {
    authorizeUrl: grantType === 'authorization_code' ? `${issuer}/oauth/authorize` : undefined,
    deviceUrl: grantType === 'device_code' ? `${issuer}/oauth/device_authorization` : undefined,
    tokenUrl: `${issuer}/oauth/token`,
    examples: firstCall({
      issuer,
      clientId: id,
      grantType,
      proof: confidential ? (keys ? 'assertion' : 'secret') : 'none',
      redirectUri,
      apiUrl,
    }),
    discoveryUrl: signsIn ? discoveryUrl(issuer) : undefined,
    signIn: signsIn && hasSecret ? signIn({ issuer, clientId: id, redirectUri }) : [],
  };
}

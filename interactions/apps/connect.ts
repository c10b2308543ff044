import type { Client } from '../../lib/contracts/index.ts';
import { firstCall } from '../../lib/first-call/first-call.ts';
import { discoveryUrl, signIn } from '../../lib/first-call/sign-in.ts';
import type { DeveloperRequest } from './developer-request.ts';
import type { Connect } from './views.ts';

/** The URLs that an app needs, how it gets a token and makes a first call, and how it signs users in. */
export function connectOf(
  client: Client,
  { developer, flow, text }: Pick<DeveloperRequest, 'developer' | 'flow' | 'text'>,
): Connect {
  const { apiUrl, basePath, clientKinds, origin } = flow;
  const { confidential, grantType, id, keys, redirectUris, scopes } = client;
  const issuer = origin + basePath;
  const [redirectUri = ''] = redirectUris;
  const signsIn =
    developer.signsIn && grantType === 'authorization_code' && (scopes?.includes('openid') ?? true);
  const hasSecret = confidential && !keys;
  const kind = clientKinds.all.get(grantType);
  const proof = confidential ? (keys ? 'assertion' : 'secret') : 'none';
  return {
    endpoint:
      kind?.endpoint === undefined
        ? undefined
        : { label: text[`kind.${grantType}.endpoint`]!, url: issuer + kind.endpoint },
    tokenUrl: `${issuer}/oauth/token`,
    examples: kind ? firstCall(kind, { issuer, clientId: id, proof, redirectUri, apiUrl }) : [],
    discoveryUrl: signsIn ? discoveryUrl(issuer) : undefined,
    signIn: signsIn && hasSecret ? signIn({ issuer, clientId: id, redirectUri }) : [],
  };
}

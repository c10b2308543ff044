import { randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { LogoutDelivery } from '../contracts/index.ts';
import { sidOf } from '../login/session-model.ts';

/** Signs the claims of a JWT with the key of ID tokens. */
export type SignJwt = (claims: Readonly<Record<string, unknown>>, type: string) => Promise<string>;

// In seconds; the specification recommends two minutes at most.
const LIFETIME = 120;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Makes the logout token of one attempt, with a `jti` of its own (OpenID Connect Back-Channel Logout 1.0 section 2.4). */
export async function createLogoutToken(
  { clientId, sessionUid, userId }: Pick<LogoutDelivery, 'clientId' | 'sessionUid' | 'userId'>,
  { issuer, sign }: { readonly issuer: string; readonly sign: SignJwt },
): Promise<string> {
  const iat = now();
  const claims = {
    iss: issuer,
    sub: userId,
    aud: clientId,
    iat,
    exp: iat + LIFETIME,
    jti: randomUUID(),
    events: { [EVENT]: {} },
    sid: sidOf(sessionUid, clientId),
  };
  return sign(claims, 'logout+jwt');
}

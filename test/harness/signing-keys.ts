import type { SigningKey } from 'koa-gatehouse/types';
import { passTime } from './clock.ts';
import type { Platform } from './platform.ts';

// A server that has not read its keys for a second reads them for it.
const OF_UNKNOWN_KEY = [{ alg: 'ES256', typ: 'at+jwt', kid: 'unknown' }, {}, 'signature']
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.');

/** Rotates the signing key of a server, and lets the time pass after which the new one signs: see {@link passTime}. */
export async function rotateSigningKey({ api, auth }: Pick<Platform, 'api' | 'auth'>): Promise<SigningKey> {
  const { id } = await auth.signingKeys.rotate({ after: '30 seconds' });
  passTime(31);
  await api('/identity', OF_UNKNOWN_KEY);
  return auth.signingKeys.list().find((key) => key.id === id)!;
}

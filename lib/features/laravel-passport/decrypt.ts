import { createDecipheriv, createHash, createHmac, hkdfSync, pbkdf2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

import type { Seconds } from '../../contracts/duration.ts';
import { TooManyAttemptsError } from '../../errors.ts';
import { ID } from './identifiers.ts';

/** What is encrypted in a refresh token of Passport. */
export interface RefreshTokenPayload {
  readonly id: string;
  readonly accessTokenId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Seconds;
}

/** Whether a value has the form of a refresh token of Passport. Refresh tokens of this server are shorter. */
export function hasRefreshTokenForm(value: string): boolean {
  return value.length <= LONGEST && FORM.test(value);
}

// The version of the format, a salt, an initialization vector and an authentication code, and a text, in hexadecimal digits.
const FORM = /^def50200(?:[\da-f]{2}){81,}$/i;

// In characters: a token with hundreds of scopes.
const LONGEST = 16_384;

// Each derivation takes some 10 ms of one of libuv's four threads, which also read files and look up host names.
const MOST_RUNNING = 2;
const MOST_WAITING = 50;

/**
 * Makes the function that decrypts refresh tokens (defuse/php-encryption, version 2 of its format): AES-256 in counter mode with
 * HMAC-SHA256 over the ciphertext, and keys that are derived from the application's key and the salt of each token.
 *
 * Most apps use the key as a password. Deriving a key from it takes 100,000 rounds of PBKDF2, by which strangers could keep this server
 * busy: so only few derivations run at once, and only few wait.
 *
 * @returns resolves to `undefined` when the token was not encrypted with one of the keys, or is changed
 * @throws TooManyAttemptsError when too many are waiting
 */
export function createDecrypt(
  appKeys: readonly Buffer[],
): (value: string) => Promise<RefreshTokenPayload | undefined> {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    if (running >= MOST_RUNNING) {
      if (waiting.length >= MOST_WAITING) throw new TooManyAttemptsError(1);
      const turn = Promise.withResolvers<void>();
      waiting.push(turn.resolve);
      await turn.promise;
    } else running += 1;
    try {
      return await work();
    } finally {
      // The next waiting call takes the place.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  return async function decrypt(value) {
    const message = Buffer.from(value, 'hex');
    // Some apps use the key as it is (laravel/passport#820), which costs next to nothing to try.
    for (const appKey of appKeys) {
      const payload = open(message, appKey);
      if (payload) return payload;
    }
    return oneAtATime(async () => {
      for (const appKey of appKeys) {
        const payload = open(message, await keyFromPassword(appKey, message.subarray(4, 36)));
        if (payload) return payload;
      }
      return undefined;
    });
  };
}

const derive = promisify(pbkdf2);

async function keyFromPassword(password: Buffer, salt: Buffer): Promise<Buffer> {
  return derive(createHash('sha256').update(password).digest(), salt, 100_000, 32, 'sha256');
}

/** Decrypts a message whose authentication code is right. */
function open(message: Buffer, key: Buffer): RefreshTokenPayload | undefined {
  const salt = message.subarray(4, 36);
  const keyFor = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', key, salt, `DefusePHP|V2|KeyFor${purpose}`, 32));
  const code = createHmac('sha256', keyFor('Authentication')).update(message.subarray(0, -32)).digest();
  if (!timingSafeEqual(code, message.subarray(-32))) return undefined;
  const decipher = createDecipheriv('aes-256-ctr', keyFor('Encryption'), message.subarray(36, 52));
  return toPayload(Buffer.concat([decipher.update(message.subarray(52, -32)), decipher.final()]));
}

function toPayload(plain: Buffer): RefreshTokenPayload | undefined {
  let members: Record<string, unknown>;
  try {
    members = Object(JSON.parse(plain.toString('utf8'))) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { access_token_id: accessTokenId, client_id: clientId, expire_time: expiresAt } = members;
  const { refresh_token_id: id, scopes, user_id: userId } = members;
  const isRefreshToken =
    typeof id === 'string' &&
    ID.test(id) &&
    typeof accessTokenId === 'string' &&
    ID.test(accessTokenId) &&
    typeof clientId === 'string' &&
    // A number before version 13, when the ids of users are numbers.
    (Number.isSafeInteger(userId) || (typeof userId === 'string' && userId !== '')) &&
    Number.isSafeInteger(expiresAt) &&
    Array.isArray(scopes) &&
    scopes.every((scope) => typeof scope === 'string');
  if (!isRefreshToken) return undefined;
  return { id, accessTokenId, clientId, userId: String(userId), scopes, expiresAt: Number(expiresAt) };
}

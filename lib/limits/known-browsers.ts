import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { KnownBrowsers, Seconds } from '../contracts/index.ts';
import { hmacKeysFrom } from '../keys/secrets.ts';
import type { Secrets } from '../keys/secrets.ts';
import { normalizeLogin } from './limits.ts';

// A cookie has entries for the accounts that logged in last, at most this number.
export const MAX_ACCOUNTS = 10;

// The parts of an entry, each of a fixed length: 128 random bits, the expiry in seconds since 1970, an HMAC with SHA-256.
const ENTRY = /^([\w-]{22})([\da-z]{7})([\w-]{43})$/;
const ENTRY_LENGTH = 22 + 7 + 43;

interface KnownBrowser {
  readonly text: string;
  /** The id of the browser for one account. */
  readonly id: string;
  readonly expiry: string;
  readonly seal: string;
}

/**
 * Makes and reads device cookies (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). A cookie has an entry for
 * each account that has logged in on the browser. Its seal is an HMAC over the entry and the account, with a key of the server:
 * it cannot be forged, and does not reveal the account.
 *
 * @param lifetime - in seconds, from the last login
 */
export function createKnownBrowsers(secrets: Secrets, lifetime: Seconds): KnownBrowsers {
  const sealingKeys = hmacKeysFrom(secrets, 'gatehouse device');

  function findEntry(entries: readonly KnownBrowser[], account: string): KnownBrowser | undefined {
    return entries.find((entry) =>
      sealingKeys().some((key) => isSame(sealOf(key, { ...entry, account }), entry.seal)),
    );
  }

  return {
    find: (cookie, login) => findEntry(entriesOf(cookie), normalizeLogin(login))?.id,
    renew(cookie, login) {
      const account = normalizeLogin(login);
      const entries = entriesOf(cookie);
      const known = findEntry(entries, account);
      const expiresAt = now() + lifetime;
      // The id is not changed, so that a stolen copy of the cookie shares the attempts of the browser.
      const id = known?.id ?? randomBytes(16).toString('base64url');
      const expiry = expiresAt.toString(36).padStart(7, '0');
      const renewed = id + expiry + sealOf(sealingKeys()[0]!, { account, expiry, id });
      const others = entries.filter((entry) => entry !== known).map(({ text }) => text);
      return { cookie: [renewed, ...others].slice(0, MAX_ACCOUNTS).join(''), expiresAt };
    },
  };
}

/** The well-formed entries that have not expired. Their seals are not verified yet. */
function entriesOf(cookie: string): readonly KnownBrowser[] {
  if (cookie.length > ENTRY_LENGTH * MAX_ACCOUNTS) return [];
  const texts = Array.from({ length: Math.floor(cookie.length / ENTRY_LENGTH) }, (_, index) =>
    cookie.slice(index * ENTRY_LENGTH, (index + 1) * ENTRY_LENGTH),
  );
  return texts.flatMap((text) => {
    const [, id, expiry, seal] = ENTRY.exec(text) ?? [];
    if (id === undefined || expiry === undefined || seal === undefined) return [];
    return Number.parseInt(expiry, 36) > now() ? [{ text, id, expiry, seal }] : [];
  });
}

function sealOf(
  key: KeyObject,
  { account, expiry, id }: { account: string; expiry: string; id: string },
): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([id, expiry, account]))
    .digest('base64url');
}

function isSame(expected: string, presented: string): boolean {
  return timingSafeEqual(Buffer.from(expected), Buffer.from(presented));
}

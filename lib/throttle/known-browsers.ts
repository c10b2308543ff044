import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { KnownBrowsers } from '../contracts/index.ts';
import { accountOf } from './attempt-ids.ts';

// Of the people who share a browser, these have signed in last.
const MOST_ACCOUNTS = 10;

// What an entry is made of, each part of a fixed length: 128 random bits, seconds since 1970, a SHA-256.
const ENTRY = /^([\w-]{22})([\da-z]{7})([\w-]{43})$/;
const LENGTH = 22 + 7 + 43;

interface Entry {
  readonly text: string;
  /** Names the browser for one account. */
  readonly id: string;
  readonly expiry: string;
  readonly seal: string;
}

/**
 * Makes and reads device cookies (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). One has an entry for each
 * account that has signed in on the browser, sealed with a key of the server and for that account: nobody else can make it,
 * and it does not tell which account it is.
 *
 * @param keys - the server's cookie keys, newest first: what an older one has sealed is still good
 * @param lifetime - in seconds, from the last login on
 */
export function createKnownBrowsers(keys: readonly string[], lifetime: number): KnownBrowsers {
  // Keys of their own, since those of the server are used elsewhere.
  const sealing = keys.map((key) => createHmac('sha256', key).update('gatehouse device').digest());

  function findEntry(entries: readonly Entry[], account: string): Entry | undefined {
    return entries.find((entry) =>
      sealing.some((key) => isSame(sealOf(key, { ...entry, account }), entry.seal)),
    );
  }

  return {
    find: (cookie, login) => findEntry(entriesOf(cookie), accountOf(login))?.id,
    renew(cookie, login) {
      const account = accountOf(login);
      const entries = entriesOf(cookie);
      const known = findEntry(entries, account);
      const expiresAt = now() + lifetime;
      // The same one: a copy of the cookie that somebody has taken gets no attempts besides those of the browser.
      const id = known?.id ?? randomBytes(16).toString('base64url');
      const expiry = expiresAt.toString(36).padStart(7, '0');
      const renewed = id + expiry + sealOf(sealing[0]!, { account, expiry, id });
      const others = entries.filter((entry) => entry !== known).map(({ text }) => text);
      return { cookie: [renewed, ...others].slice(0, MOST_ACCOUNTS).join(''), expiresAt };
    },
  };
}

/** The entries that have not expired. Whether they are ours is told by their seals only. */
function entriesOf(cookie: string): readonly Entry[] {
  if (cookie.length > LENGTH * MOST_ACCOUNTS) return [];
  const texts = Array.from({ length: Math.floor(cookie.length / LENGTH) }, (_, index) =>
    cookie.slice(index * LENGTH, (index + 1) * LENGTH),
  );
  return texts.flatMap((text) => {
    const [, id, expiry, seal] = ENTRY.exec(text) ?? [];
    if (id === undefined || expiry === undefined || seal === undefined) return [];
    return Number.parseInt(expiry, 36) > now() ? [{ text, id, expiry, seal }] : [];
  });
}

function sealOf(
  key: Buffer,
  { account, expiry, id }: { account: string; expiry: string; id: string },
): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([id, expiry, account]))
    .digest('base64url');
}

function isSame(expected: string, presented: string): boolean {
  return timingSafeEqual(Buffer.from(expected), Buffer.from(presented));
}

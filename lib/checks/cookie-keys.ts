import type { Finding } from '../contracts.ts';
import type { CheckSubject } from './check.ts';

// 32 random characters of any usual alphabet have more, the hexadecimal digits included.
const LEAST_DIFFERENT_CHARACTERS = 8;

/**
 * Whether the cookie keys that the host gives can be guessed. How long they are is checked when a server starts; those
 * that a server makes itself are random, and shared by all nodes.
 */
export async function checkCookieKeys({ cookieKeys = [] }: CheckSubject): Promise<readonly Finding[]> {
  const weak = cookieKeys.filter((key) => new Set(key).size < LEAST_DIFFERENT_CHARACTERS);
  if (weak.length === 0) return [];
  return [
    {
      code: 'cookie_keys_weak',
      severity: 'error',
      message: `${weak.length === 1 ? 'A cookie key is' : `${weak.length} cookie keys are`} made of very few different characters, so that sessions can be forged.`,
      remedy:
        'Make random ones, such as with `openssl rand -base64 32`, or leave cookieKeys out: then one is made and kept in the storage.',
    },
  ];
}

import { timingSafeEqual } from 'node:crypto';

import Keygrip from 'keygrip';

/**
 * Signs cookies as Keygrip does, with the first of the keys, and knows a signature by any of them.
 *
 * Keygrip compares two signatures by signing both once more with a random key, which Node takes longer for than for the rest of a
 * request's cookies. Node's own comparison takes constant time too.
 */
export function createCookieKeys(keys: readonly string[]): Pick<Keygrip, 'sign' | 'verify' | 'index'> {
  const signers = keys.map((key) => new Keygrip([key]));

  function index(data: string, signature: string): number {
    return signers.findIndex((signer) => isSame(signer.sign(data), signature));
  }

  return {
    sign: (data) => signers[0]!.sign(data),
    verify: (data, signature) => index(data, signature) !== -1,
    index,
  };
}

function isSame(expected: string, presented: string): boolean {
  const [first, second] = [Buffer.from(expected), Buffer.from(presented)];
  return first.length === second.length && timingSafeEqual(first, second);
}

import test from 'ava';
import { compactVerify, exportJWK, generateKeyPair, importJWK } from 'jose';

import { TokenKey } from '../../lib/token/access-token.ts';

for (const alg of ['ES256', 'RS256', 'EdDSA']) {
  // Of 256 numbers in an ECDSA signature, one is shorter than the others, and every second one has a zero before it in DER.
  test(`${alg}: jose verifies each of 1000 signatures`, async (t) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const key = new TokenKey({ ...(await exportJWK(privateKey)), alg, kid: 'k' }, {});
    const verifying = await importJWK(await exportJWK(publicKey), alg);
    const verified = await Promise.all(
      Array.from({ length: 1000 }, async (_, index) =>
        compactVerify(await key.signJwt({ index }, 'at+jwt'), verifying),
      ),
    );
    t.deepEqual(
      verified.map(
        ({ payload }) => (JSON.parse(new TextDecoder().decode(payload)) as { index: number }).index,
      ),
      Array.from({ length: 1000 }, (_, index) => index),
    );
    t.deepEqual(verified[0]!.protectedHeader, { alg, typ: 'at+jwt', kid: 'k' });
  });
}

import test from 'ava';
import { compactVerify, CompactSign, exportJWK, generateKeyPair, importJWK } from 'jose';

import { TokenKey } from '../../lib/token/token-key.ts';

for (const alg of ['ES256', 'RS256', 'EdDSA']) {
  // Of 256 numbers in an ECDSA signature, one is shorter than the others, and every second one has a zero before it in DER.
  test(`${alg}: jose verifies each of 1000 signatures, and the key those of jose`, async (t) => {
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
    for (let index = 0; index < 1000; index += 1) {
      const jws = await new CompactSign(Buffer.from(`${index}`)).setProtectedHeader({ alg }).sign(privateKey);
      const signature = Buffer.from(jws.slice(jws.lastIndexOf('.') + 1), 'base64url');
      const signed = jws.slice(0, jws.lastIndexOf('.'));
      t.true(await key.verify(Buffer.from(signed), signature), jws);
      if (index % 100 > 0) continue;
      t.false(await key.verify(Buffer.from(`${signed}0`), signature), 'other data');
      for (const wrong of [
        Buffer.alloc(0),
        Buffer.alloc(64),
        Buffer.alloc(signature.length, 0xff),
        signature.subarray(1),
        Buffer.concat([signature, Buffer.alloc(1)]),
        Buffer.concat([Buffer.alloc(1), signature]),
      ])
        t.false(await key.verify(Buffer.from(signed), wrong), wrong.toString('hex'));
    }
  });
}

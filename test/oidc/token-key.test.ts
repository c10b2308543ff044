import test from '../harness/test.ts';
import { compactVerify, CompactSign, exportJWK, generateKeyPair, importJWK } from 'jose';

import { TokenKey } from '../../lib/token/token-key.ts';

// Of 256 numbers in an ECDSA signature, one is shorter than the others, and every second one has a zero before it in DER.
for (const [alg, count] of [
  ['ES256', 1000],
  ['RS256', 5],
  ['EdDSA', 5],
] as const) {
  test(`${alg}: jose verifies each of ${count} signatures, and the key those of jose`, async (t) => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const key = new TokenKey(
      { ...(await exportJWK(privateKey)), alg, kid: 'k' },
      { confirm: async () => undefined },
    );
    const verifying = await importJWK(await exportJWK(publicKey), alg);
    for (let index = 0; index < count; index += 1) {
      const { payload, protectedHeader } = await compactVerify(
        await key.signJwt({ index }, 'at+jwt'),
        verifying,
      );
      t.deepEqual(JSON.parse(new TextDecoder().decode(payload)), { index });
      t.deepEqual(protectedHeader, { alg, typ: 'at+jwt', kid: 'k' });
      const jws = await new CompactSign(Buffer.from(`${index}`)).setProtectedHeader({ alg }).sign(privateKey);
      const signature = Buffer.from(jws.slice(jws.lastIndexOf('.') + 1), 'base64url');
      const signed = jws.slice(0, jws.lastIndexOf('.'));
      t.true(await key.verify(Buffer.from(signed), signature), jws);
      if (index > 0) continue;
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

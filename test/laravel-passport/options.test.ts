// The options of laravelPassport(): each mistake is an error that names the option and the remedy.
import { generateKeyPairSync } from 'node:crypto';

import test from '../harness/test.ts';
import { laravelPassport } from 'koa-gatehouse';

import { APP_KEY, vectors } from './laravel.ts';

type Options = Parameters<typeof laravelPassport>[0];

const GIVEN = {
  publicKey: vectors.rsa_public_key_pem,
  source: { findAccessToken: async () => undefined },
  until: '2119-12-31',
};

function pem(kind: 'ed25519' | 'rsa', modulusLength = 2048): string {
  const { publicKey } =
    kind === 'rsa' ? generateKeyPairSync(kind, { modulusLength }) : generateKeyPairSync(kind);
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}

const PUBLIC_KEY =
  'give the text of storage/oauth-public.key or PASSPORT_PUBLIC_KEY, an RSA key of at least 2048 bits, or a list of such keys';
const DATE = "give a date such as '2027-06-30', which begins in UTC, or a Date";
const APP_KEYS =
  'give APP_KEY as it is in .env, with base64: in front, or a list of at most 3, the newest first';

const WRONG: readonly (readonly [option: string, remedy: RegExp | string, ...values: readonly unknown[]])[] =
  [
    ['publicKey', PUBLIC_KEY, undefined, [], 'oauth-public.key', pem('ed25519')],
    ['publicKey', PUBLIC_KEY, [vectors.rsa_public_key_pem, pem('rsa', 1024)]],
    [
      'publicKey',
      'this is the private key; give the public one, oauth-public.key',
      vectors.rsa_private_key_pem,
    ],
    ['appKey', APP_KEYS, 'base64:c2hvcnQ=', Array<string>(4).fill(APP_KEY)],
    ['appkey', /^laravelPassport\(\{ appkey \}\): there is no such option; did you mean appKey\? /, APP_KEY],
    ['source', 'pass laravelPassportSource(knex)', undefined, 'mysql://laravel@db.example/laravel'],
    [
      'until',
      DATE,
      undefined,
      '30.06.2027',
      '2027-06-30T12:00',
      '2027-13-01',
      1_800_000_000,
      new Date('never'),
    ],
  ];

test('a wrong option is an error that names it and says what to do', (t) => {
  t.is(laravelPassport(GIVEN as unknown as Options).name, 'laravelPassport');
  for (const [option, remedy, ...values] of WRONG)
    for (const value of values) {
      const message = typeof remedy === 'string' ? `laravelPassport({ ${option} }): ${remedy}` : remedy;
      const given = { ...GIVEN, [option]: value } as unknown as Options;
      t.throws(() => laravelPassport(given), { code: 'ERR_CONFIG', message }, option);
    }
});

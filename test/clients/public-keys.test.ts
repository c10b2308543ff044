import test from '../harness/test.ts';
import { createAuthServer } from 'koa-gatehouse';
import type { ClientFields } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { makeKeyPair } from '../harness/client-keys.ts';
import { like } from '../harness/like.ts';
import { people } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const auth = await createAuthServer<string, string>({
    issuer: 'http://localhost:3000',
    users: people(),
    storage: memoryStorage(),
    clients: { privateKeyJwt: true },
  });
  const ec = await makeKeyPair('ec', 'ES256');
  const rsa = await makeKeyPair('rsa', 'RS256');
  const ed = await makeKeyPair('ed', 'EdDSA');
  stack.defer(async () => auth.close());
  const SHORT = { ...rsa.publicJwk, ...rsaOf(1024) };
  const LONG = { ...rsa.publicJwk, n: 'w'.repeat(1400) };
  const REFUSED: readonly (readonly [keys: unknown, ...mistakes: string[]])[] = [
    [null, 'keys: keys_form'],
    ['x', 'keys: keys_form'],
    [[], 'keys: keys_form'],
    [{}, 'keys: keys_form'],
    [{ jwks: { keys: [ec.publicJwk] }, jwksUri: 'https://app.example' }, 'keys: keys_form'],
    [{ jwks: { keys: [ec.publicJwk] }, other: 1 }, 'keys.other: unknown_field'],
    [{ jwks: ec.publicJwk }, 'keys.jwks: jwks_form'],
    [{ jwks: null }, 'keys.jwks: jwks_form'],
    [keySet(), 'keys.jwks: keys_count'],
    [
      keySet(...Array.from({ length: 11 }, (_, kid) => ({ ...ec.publicJwk, kid: `${kid}` }))),
      'keys.jwks: keys_count',
    ],
    [keySet({ ...ec.publicJwk, x5c: ['x'.repeat(70_000)] }), 'keys.jwks: keys_size'],
    [keySet('x'), 'keys.jwks.keys[0]: key_form'],
    [keySet({}), 'keys.jwks.keys[0]: key_type'],
    [keySet({ ...ec.publicJwk, crv: 'secp256k1' }), 'keys.jwks.keys[0]: key_type'],
    [keySet({ ...ed.publicJwk, crv: 'X25519' }), 'keys.jwks.keys[0]: key_type'],
    [keySet({ ...ec.publicJwk, kty: 'constructor' }), 'keys.jwks.keys[0]: key_type'],
    [keySet({ ...ec.publicJwk, alg: 'ES384' }), 'keys.jwks.keys[0]: key_algorithm'],
    [keySet({ ...rsa.publicJwk, alg: 'RSA-OAEP' }), 'keys.jwks.keys[0]: key_algorithm'],
    [keySet({ ...rsa.publicJwk, alg: 'HS256' }), 'keys.jwks.keys[0]: key_algorithm'],
    [keySet({ ...ec.publicJwk, use: 'enc' }), 'keys.jwks.keys[0]: key_use'],
    [keySet({ ...ec.publicJwk, key_ops: ['sign'] }), 'keys.jwks.keys[0]: key_use'],
    [keySet({ ...ec.publicJwk, kid: '' }), 'keys.jwks.keys[0]: key_id_form'],
    [keySet({ ...ec.publicJwk, kid: 1 }), 'keys.jwks.keys[0]: key_id_form'],
    [keySet({ ...ec.publicJwk, kid: 'a\u202eb' }), 'keys.jwks.keys[0]: key_id_form'],
    [keySet({ ...ec.publicJwk, kid: 'x'.repeat(256) }), 'keys.jwks.keys[0]: key_id_form'],
    [keySet(ec.publicJwk, { ...rsa.publicJwk, kid: 'ec' }), 'keys.jwks.keys[1]: key_duplicate'],
    [keySet({ ...ec.publicJwk, x: ec.publicJwk.y }), 'keys.jwks.keys[0]: key_invalid'],
    [keySet({ ...ec.publicJwk, y: undefined }), 'keys.jwks.keys[0]: key_invalid'],
    [keySet({ ...rsa.publicJwk, n: 1 }), 'keys.jwks.keys[0]: key_invalid'],
    [keySet({ ...rsa.publicJwk, e: 'AQ' }), 'keys.jwks.keys[0]: key_invalid'],
    [keySet({ ...rsa.publicJwk, e: 'w'.repeat(300) }), 'keys.jwks.keys[0]: key_invalid'],
    [keySet(SHORT), 'keys.jwks.keys[0]: key_length'],
    [keySet(rsaOf(4104)), 'keys.jwks.keys[0]: key_length'],
    [keySet(LONG), 'keys.jwks.keys[0]: key_invalid'],
    [
      keySet({ ...ec.publicJwk, use: 'enc' }, SHORT),
      'keys.jwks.keys[0]: key_use',
      'keys.jwks.keys[1]: key_length',
    ],
    ...[
      'http://app.example/jwks',
      'app.example/jwks',
      'https://user@app.example/',
      'https://app.example/#x',
      'https://app.example/ x',
      `https://app.example/${'x'.repeat(2000)}`,
      1,
      '',
    ].map((jwksUri) => [{ jwksUri }, 'keys.jwksUri: jwks_uri_form'] as const),
    ...['https://localhost/jwks', 'https://127.0.0.1/', 'https://[::1]:8443/', 'https://0x7f.1/'].map(
      (jwksUri) => [{ jwksUri }, 'keys.jwksUri: jwks_uri_private'] as const,
    ),
  ];
  return { auth, ec, rsa, ed, REFUSED };
});

const SERVICE = { name: 'Nightly', grantType: 'client_credentials' } as const;

/** The mistakes in keys, each as its field and its code. */
async function mistakesIn(keys: unknown, fields: Partial<ClientFields> = SERVICE): Promise<string[]> {
  const { auth } = await started();
  const given = { ...SERVICE, ...fields, keys } as ClientFields;
  const error = await auth.clients.create(given).then(
    () => undefined,
    (thrown: { fields?: { field: string; code: string }[] }) => thrown,
  );
  return (error?.fields ?? []).map(({ code, field }) => `${field}: ${code}`);
}

const keySet = (...keys: unknown[]): object => ({ jwks: { keys } });

/** A public RSA key of a length. Its modulus has no factors that anyone knows, which nothing here needs, and takes no time to find. */
function rsaOf(bits: number): object {
  return { kty: 'RSA', n: Buffer.alloc(bits / 8, 0xff).toString('base64url'), e: 'AQAB' };
}

test('keys of each kind are stored with the members that verifying needs', async (t) => {
  const { ec, rsa, ed, auth } = await started();
  const keys = [ec, rsa, ed].map(({ publicJwk }) => publicJwk);
  const given = {
    jwks: { keys: keys.map((key) => ({ ...key, x5c: ['certificate'], key_ops: ['verify'], other: 1 })) },
  };
  const { client } = await auth.clients.create({ ...SERVICE, keys: given });
  t.deepEqual(client.keys, { jwks: { keys } });
  const complete = { ...ec.publicJwk, use: 'sig', alg: 'ES256' };
  const changed = await auth.clients.update(client.id, { keys: keySet(complete) as ClientFields['keys'] });
  t.deepEqual(changed.keys, { jwks: { keys: [complete] } });
  const renamed = await auth.clients.update(client.id, { name: 'Renamed' });
  t.deepEqual(renamed.keys, changed.keys);
  const [record] = await auth.audit.list({ clientId: client.id, types: ['client_updated'] });
  like(t, record, { type: 'client_updated', fields: ['name'] });
});

test('private and symmetric keys are refused as leaked, in whatever member', async (t) => {
  const { ec, rsa, ed, auth } = await started();
  for (const { privateJwk, publicJwk } of [ec, rsa, ed]) {
    t.deepEqual(await mistakesIn(keySet(privateJwk)), ['keys.jwks.keys[0]: key_private']);
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])
      t.deepEqual(await mistakesIn(keySet(publicJwk, { ...publicJwk, kid: 'two', [member]: '' })), [
        'keys.jwks.keys[1]: key_private',
      ]);
  }
  t.deepEqual(await mistakesIn(keySet({ kty: 'oct', k: 'c2VjcmV0' })), ['keys.jwks.keys[0]: key_private']);
  const error = await t.throwsAsync(
    auth.clients.create({ ...SERVICE, keys: { jwks: { keys: [{ ...rsa.privateJwk }] } } }),
  );
  t.regex(error.message, /make a new pair of keys, and give the public one only$/);
  t.false(error.message.includes(String(rsa.privateJwk.d)));
});

test('what is no set of usable public keys is refused, with a mistake for each key; RSA keys have 2048 to 4096 bits', async (t) => {
  const { REFUSED } = await started();
  for (const [keys, ...mistakes] of REFUSED)
    t.deepEqual(await mistakesIn(keys), mistakes, JSON.stringify(keys).slice(0, 120));
  for (const bits of [2048, 4096]) t.deepEqual(await mistakesIn(keySet(rsaOf(bits))), [], `${bits}`);
});

test('an app that users authorize has keys too, a public one does not', async (t) => {
  const { ec } = await started();
  const app = { grantType: 'authorization_code', redirectUris: ['https://app.example/callback'] } as const;
  t.deepEqual(await mistakesIn(keySet(ec.publicJwk), app), []);
  t.deepEqual(await mistakesIn({ jwksUri: 'https://app.example/jwks?v=1' }, app), []);
  t.deepEqual(await mistakesIn(keySet(ec.publicJwk), { ...app, confidential: false }), [
    'keys: keys_of_public_client',
  ]);
});

test('a client keeps its keys through changes when the option is switched off, and can lose them', async (t) => {
  const { ec, ed } = await started();
  const storage = memoryStorage();
  const options = { issuer: 'http://localhost:3000', users: people(), storage };
  const on = await createAuthServer<string, string>({ ...options, clients: { privateKeyJwt: true } });
  const off = await createAuthServer<string, string>(options);
  t.teardown(async () => Promise.all([on.close(), off.close()]));
  const { client } = await on.clients.create({ ...SERVICE, keys: { jwks: { keys: [ec.publicJwk] } } });
  const renamed = await off.clients.update(client.id, (before) => ({ ...before, name: 'Renamed' }));
  t.deepEqual([renamed.name, renamed.keys], ['Renamed', client.keys]);
  await t.throwsAsync(off.clients.update(client.id, { keys: { jwks: { keys: [ed.publicJwk] } } }), {
    message: 'keys: this server accepts no keys of clients; switch on its option clients.privateKeyJwt',
  });
  t.is((await off.clients.update(client.id, { keys: undefined })).keys, undefined);
});

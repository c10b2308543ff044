import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { BEHIND_PROXY } from '../agents/documents.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import type { Claims, ClientKeyPair } from '../harness/client-keys.ts';
import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { times } from '../limits/platform.ts';
import { endWith } from '../harness/serve.ts';

const STRANGER = '192.0.2.1';
const WINDOW = 300;

const started = shared(async () => {
  const pair = await makeKeyPair();
  const wrong = await makeKeyPair();
  return { pair, wrong };
});

async function start(
  t: ExecutionContext,
  options: Parameters<typeof startPlatform>[0] = {},
): Promise<Platform> {
  const node = endWith(
    t,
    await startPlatform({ ...options, clients: { privateKeyJwt: true } }, BEHIND_PROXY),
  );
  return node;
}

async function register(node: Platform, ...pairs: readonly ClientKeyPair[]): Promise<string> {
  const { client } = await node.auth.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
    keys: { jwks: { keys: pairs.map(({ publicJwk }) => publicJwk) } },
  });
  return client.id;
}

async function ask(
  node: Platform,
  id: string,
  {
    address = STRANGER,
    by,
    claims = {},
    path = '/oauth/token',
  }: { address?: string; by?: ClientKeyPair; claims?: Claims; path?: string } = {},
): Promise<Answer> {
  const { pair } = await started();
  const parameters = await assertionParameters(id, node.auth.issuer, by ?? pair, claims);
  return postForm(
    node.url(path),
    { grant_type: 'client_credentials', token: 'x', ...parameters },
    { 'x-forwarded-for': address },
  );
}

const repeated = (status: number, count: number): number[] => Array.from({ length: count }, () => status);

test.serial(
  'after ten wrong assertions from an address the answer is 429 until the window ends, and the client is not locked out',
  async (t) => {
    const { pair, wrong } = await started();
    const node = await start(t);
    const id = await register(node, pair);
    const paths = ['/oauth/token', '/oauth/introspect', '/oauth/revoke'];
    const statuses = await times(12, async (index) => ask(node, id, { by: wrong, path: paths[index % 3]! }));
    t.deepEqual(statuses, [...repeated(401, 10), 429, 429]);
    const refused = await ask(node, id, { by: wrong });
    const seconds = Number(refused.headers.get('retry-after'));
    t.true(seconds > WINDOW - 30 && seconds <= WINDOW);
    t.deepEqual(refused.body, {
      error: 'temporarily_unavailable',
      error_description: `too many attempts to authenticate this client; try again in ${seconds} seconds`,
    });
    // Neither the client, there and elsewhere, nor the mistakes of others are refused because of them.
    for (const address of [STRANGER, '198.51.100.1']) t.is((await ask(node, id, { address })).status, 200);
    t.is((await ask(node, id, { by: wrong, address: '198.51.100.2' })).status, 401);
    passTime(WINDOW);
    t.is((await ask(node, id, { by: wrong })).status, 401);
  },
);

test.serial('each kind of wrong assertion is counted, and one that was used before is not', async (t) => {
  const { wrong, pair } = await started();
  const throttling = { clientAuthentication: { perClientAndAddress: 2 } };
  const node = await start(t, { limits: { attempts: throttling } });
  const kinds: ReadonlyArray<Parameters<typeof ask>[2] & object> = [
    { by: wrong },
    { by: { ...pair, publicJwk: { kid: 'unknown' } } },
    { claims: { aud: 'https://other.example' } },
    { claims: { exp: 1 } },
    { claims: { iss: 'other' } },
  ];
  for (const kind of kinds) {
    const id = await register(node, pair);
    t.deepEqual(await times(3, async () => ask(node, id, kind)), [401, 401, 429]);
  }
  t.deepEqual(await times(3, async () => ask(node, 'unknown')), [401, 401, 429], 'an unknown client');
  const id = await register(node, pair);
  const used = { claims: { jti: 'used' } };
  t.is((await ask(node, id, used)).status, 200);
  t.deepEqual(await times(5, async () => ask(node, id, used)), repeated(401, 5));
  t.is((await ask(node, id, { by: wrong })).status, 401);
});

/** The number of signatures that are verified while `run` runs. */
async function verifications(run: () => Promise<unknown>): Promise<number> {
  const { subtle } = crypto;
  const verify = subtle.verify.bind(subtle);
  let count = 0;
  subtle.verify = async (...given: Parameters<typeof verify>) => {
    count += 1;
    return verify(...given);
  };
  try {
    await run();
  } finally {
    subtle.verify = verify;
  }
  return count;
}

test.serial(
  'of ten keys of one kind, an assertion is verified with the one that it names, or with none',
  async (t) => {
    const node = await start(t);
    const pairs = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => makeKeyPair(`key-${index}`, 'ES512')),
    );
    const id = await register(node, ...pairs);
    const stranger = await makeKeyPair('unknown', 'ES512');
    for (const [status, count, by] of [
      [200, 1, pairs[7]!],
      [401, 1, { ...stranger, publicJwk: { kid: 'key-7' } }],
      [401, 0, stranger],
      [401, 0, { ...stranger, publicJwk: {} }],
    ] as const)
      t.is(await verifications(async () => t.is((await ask(node, id, { by })).status, status)), count);
  },
);

import { randomBytes, randomUUID } from 'node:crypto';

import test from '../harness/test.ts';
import { hash } from 'bcryptjs';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startPlatform } from '../harness/platform.ts';
import type { Platform, TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { around, pausable } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';
import type { StoredSecret } from '../../lib/contracts/index.ts';

// In the form of Laravel Passport: 40 letters and digits.
const SECRET = 'kGxVw2bC7LpQzR9tYhN4mJ8sDf3aXeU6iOoB1vTc';
// A low cost of bcrypt, for speed. Tests of load use the cost of Laravel.
const CHEAP = 4;

const storage = memoryStorage();
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage }));
  return { platform };
});

/** A bcrypt hash in the form of PHP. */
async function bcrypt(value: string, cost = CHEAP, version = '2y'): Promise<string> {
  return (await hash(value, cost)).replace('$2b$', `$${version}$`);
}

/** Registers a client whose only secrets are the given hashes. */
async function importClient(
  hashes: readonly string[],
  { auth, into = storage, expiresAt }: { auth?: Platform['auth']; into?: Storage; expiresAt?: number } = {},
): Promise<string> {
  const { platform } = await started();
  const { client } = await (auth ?? platform.auth).clients.create({
    name: 'Imported',
    grantType: 'client_credentials',
  });
  const { clients } = into;
  for (const { id } of (await clients.find(client.id))!.secrets) await clients.deleteSecret(client.id, id);
  for (const [index, imported] of hashes.entries()) {
    const secret: StoredSecret = {
      id: randomUUID(),
      hash: imported,
      label: `imported ${index}`,
      hint: '',
      createdAt: index,
      expiresAt,
      lastUsedAt: undefined,
    };
    await clients.addSecret(client.id, secret);
  }
  return client.id;
}

async function ask(id: string, secret: string, by?: Platform): Promise<TokenAnswer> {
  const { platform } = await started();
  return (by ?? platform).token({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
}

async function hashesOf(id: string): Promise<string[]> {
  return (await storage.clients.find(id))!.secrets.map((secret) => secret.hash);
}

test('an imported secret works, and is stored as SHA-256 at its first use', async (t) => {
  const { platform } = await started();
  for (const version of ['2a', '2b', '2y']) {
    const id = await importClient([await bcrypt(SECRET, CHEAP, version)]);
    // None of these replaces the stored hash.
    for (const wrong of [`${SECRET}x`, SECRET.toLowerCase(), ` ${SECRET}`, `\0${SECRET}`, 'ü'.repeat(36)])
      t.is((await ask(id, wrong)).status, 401, wrong);
    t.regex((await hashesOf(id))[0]!, /^\$2/);
    t.is((await ask(id, SECRET)).status, 200, version);
    t.regex((await hashesOf(id))[0]!, /^[\w-]{43}$/);
    t.is((await ask(id, SECRET)).status, 200, version);
    t.is((await ask(id, `${SECRET}x`)).status, 401);
    await until(async () => (await platform.auth.clients.secrets(id))[0]?.lastUsedAt !== undefined);
  }
});

test('of several imported secrets only the hash of the used one is replaced', async (t) => {
  const id = await importClient([await bcrypt('the first one'), await bcrypt(SECRET)]);
  t.is((await ask(id, SECRET)).status, 200);
  const [first, second] = await hashesOf(id);
  t.regex(first!, /^\$2y/);
  t.notRegex(second!, /^\$2y/);
  for (const good of [SECRET, 'the first one']) t.is((await ask(id, good)).status, 200, good);
});

test('a deleted or expired imported secret does not work', async (t) => {
  const { platform } = await started();
  const expired = await importClient([await bcrypt(SECRET)], { expiresAt: 1 });
  t.is((await ask(expired, SECRET)).status, 401);
  const removed = await importClient([await bcrypt(SECRET)]);
  const [secret] = await platform.auth.clients.secrets(removed);
  await platform.auth.clients.deleteSecret(removed, secret!.id);
  t.is((await ask(removed, SECRET)).status, 401);
});

test('an imported secret that is deleted while it is checked does not work', async (t) => {
  const { storage: own, pause } = pausable(memoryStorage());
  await using slow = await startPlatform({ storage: own });
  const id = await importClient([await bcrypt(SECRET)], { auth: slow.auth, into: own });
  const { reached, resume } = pause('clients.rehashSecret');
  const answer = ask(id, SECRET, slow);
  await reached;
  const [secret] = await slow.auth.clients.secrets(id);
  await slow.auth.clients.deleteSecret(id, secret!.id);
  resume();
  t.is((await answer).status, 401);
});

test('concurrent requests with the right secret all get a token, for one check', async (t) => {
  const calls: string[] = [];
  const { storage: own, pause } = pausable(
    around(memoryStorage(), async (name, call) => {
      calls.push(name);
      return call();
    }),
  );
  let received = 0;
  await using busy = await startPlatform(
    { storage: own },
    {
      app: ({ auth }) => {
        const handle = auth.callback();
        return (request, response) => {
          request.once('end', () => (received += 1));
          handle(request, response);
        };
      },
    },
  );
  const id = await importClient([await bcrypt(SECRET)], { auth: busy.auth, into: own });
  // The first check is not over before all requests have arrived.
  const { reached, resume } = pause('clients.rehashSecret');
  const answers = Promise.all(Array.from({ length: 10 }, async () => ask(id, SECRET, busy)));
  await reached;
  await until(() => received === 10);
  resume();
  t.deepEqual(new Set((await answers).map(({ status }) => status)), new Set([200]));
  t.is(calls.filter((name) => name === 'clients.rehashSecret').length, 1);
});

test('malformed bcrypt hashes, and those of a high cost, never match', async (t) => {
  const good = await bcrypt(SECRET);
  for (const bad of [
    '',
    '$2y$04$',
    good.replace('$04$', '$16$'),
    good.replace('$2y$', '$2x$'),
    good.replace('$2y$', '$1$'),
    `${good}x`,
    good.slice(0, -1),
    SECRET,
  ]) {
    const id = await importClient([bad]);
    t.is((await ask(id, SECRET)).status, 401, bad);
    t.is((await ask(id, bad)).status, 401, bad);
  }
  const id = await importClient(['$2y$04$broken', good]);
  t.is((await ask(id, SECRET)).status, 200);
});

// bcrypt treats each of them as equal to the secret. The first one that was used would be stored as the secret.
test('values that bcrypt treats as equal to the secret are refused', async (t) => {
  const [long, brief] = ['x'.repeat(72), SECRET.slice(20)];
  const [id, short] = [await importClient([await bcrypt(long)]), await importClient([await bcrypt(brief)])];
  for (const like of [`${long}a`, `${long}\0`, `${long}${long}`]) t.is((await ask(id, like)).status, 401);
  // bcrypt repeats the key, so that these are equal.
  for (const like of [`${brief}\0${brief}`, `${brief}\0`, '\0'])
    t.is((await ask(short, like)).status, 401, JSON.stringify(like));
  t.regex((await hashesOf(id))[0]!, /^\$2/);
  t.regex((await hashesOf(short))[0]!, /^\$2/);
  t.is((await ask(id, long)).status, 200);
  t.is((await ask(short, brief)).status, 200);
});

test('a flood of values in the form of generated secrets does not block the client', async (t) => {
  const own = memoryStorage();
  await using busy = await startPlatform(
    { storage: own, trustProxy: true },
    { app: ({ auth }) => auth.callback() },
  );
  const id = await importClient([await bcrypt(SECRET, 10)], { auth: busy.auth, into: own });
  const askFrom = async (address: string, secret: string): Promise<number> => {
    const fields = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
    return (await postForm(busy.url('/oauth/token'), fields, { 'x-forwarded-for': address })).status;
  };
  const flooded = { answers: 0, isOver: false };
  const flood = Array.from({ length: 12 }, async (_, index) => {
    while (!flooded.isOver) {
      const value = `gatehouse_secret_${randomBytes(32).toString('base64url')}`;
      const status = await askFrom(`198.51.${index}.7`, value);
      t.true([401, 429].includes(status));
      flooded.answers += 1;
    }
  });
  while (flooded.answers < 24) await new Promise(setImmediate);
  const statuses: number[] = [];
  for (let tries = 0; tries < 5; tries += 1) statuses.push(await askFrom('192.0.2.1', SECRET));
  flooded.isOver = true;
  t.deepEqual(statuses, [200, 200, 200, 200, 200]);
  await Promise.all(flood);
});

test('a flood of wrong values for an imported client does not block other clients', async (t) => {
  const own = memoryStorage();
  await using busy = await startPlatform({ storage: own });
  // The cost of Laravel up to version 10; that of later versions is four times as high.
  const into = { auth: busy.auth, into: own };
  const flooded = await importClient([await bcrypt(SECRET, 10)], into);
  const other = await importClient([await bcrypt(SECRET, 10)], into);
  const service = await busy.registerService();
  const refused: TokenAnswer[] = [];
  let checked = 0;
  const flood = Array.from({ length: 40 }, async (_, index) => {
    const answer = await ask(flooded, `wrong ${index}`, busy);
    if (answer.status === 429) refused.push(answer);
    else checked += 1;
  });
  void Promise.allSettled(flood);
  for (let count = 0; count < 10; count += 1) {
    t.is((await ask(service.client.id, service.secret, busy)).status, 200);
  }
  t.is((await ask(other, SECRET, busy)).status, 200, 'nor other imported clients');
  t.true(checked < 8, 'the flood is still in progress');
  // At most eight wait. On a busy machine, some requests of the flood arrive late.
  await until(() => refused.length >= 10);
  t.deepEqual(refused[0]?.body as object, {
    error: 'temporarily_unavailable',
    error_description: 'too many attempts to authenticate this client; try again in 5 seconds',
  });
});

import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { breakable, pausable } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';

// Two nodes with one issuer. All tests set the clock ahead.
const LAG = 10;
const { storage, pause } = pausable(memoryStorage());
const started = shared(async (stack) => {
  const here = stack.use(await startPlatform({ storage, tokens: { revocationLag: LAG } }));
  const there = stack.use(
    await startPlatform({ storage, tokens: { revocationLag: LAG }, issuer: here.origin }),
  );
  const { clients } = here.auth;
  return { here, there, clients };
});

/** Whether a secret gets a token on each node. */
async function works({ client }: Pick<RegisteredApp, 'client'>, secret: string): Promise<boolean[]> {
  const { here, there } = await started();
  const asked = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const statuses = [];
  for (const node of [here, there]) statuses.push((await node.token(asked)).status === 200);
  return statuses;
}

const now = (): number => Math.floor(Date.now() / 1000);

test.serial(
  'a deleted secret stops at once on this node, and within tokens.revocationLag on the other',
  async (t) => {
    const { clients, here } = await started();
    const acts: ((id: string) => Promise<unknown>)[] = [
      async (id) => clients.deleteSecret(id, (await clients.secrets(id))[0]!.id),
      (id) => clients.disable(id),
      (id) => clients.delete(id),
      (id) => clients.rotateSecret(id),
    ];
    for (const act of acts) {
      const service = await here.registerService();
      t.deepEqual(await works(service, service.secret), [true, true]);
      await act(service.client.id);
      t.false((await works(service, service.secret))[0]);
      passTime(LAG);
      t.deepEqual(await works(service, service.secret), [false, false]);
    }
  },
);

test.serial('rotateSecret({ overlap }): old secrets work during the overlap, and then stop', async (t) => {
  const { here, clients } = await started();
  const service = await here.registerService();
  const { id } = service.client;
  const brief = await clients.addSecret(id, { expiresAt: now() + 60 });
  const { value, label } = await clients.rotateSecret(id, { label: 'May', overlap: '1 hour' });
  t.is(label, 'May');
  passTime(LAG);
  for (const live of [value, service.secret, brief.value])
    t.deepEqual(await works(service, live), [true, true]);
  passTime(100);
  t.deepEqual(await works(service, brief.value), [false, false], 'a secret that expires earlier still does');
  t.deepEqual(await works(service, service.secret), [true, true]);
  passTime(3600);
  t.deepEqual(await works(service, service.secret), [false, false]);
  t.deepEqual(await works(service, value), [true, true]);
});

test.serial('rotateSecret() adds the new secret before it deletes the old one', async (t) => {
  const { here, clients } = await started();
  const service = await here.registerService();
  const { reached, resume } = pause('clients.deleteSecret');
  const rotating = clients.rotateSecret(service.client.id);
  await reached;
  t.is((await clients.secrets(service.client.id)).length, 2);
  t.true((await works(service, service.secret))[0]);
  resume();
  await rotating;
  t.is((await clients.secrets(service.client.id)).length, 1);
});

test.serial('all invalid fields of a secret are reported in one error', async (t) => {
  const { here, clients } = await started();
  const { client } = await here.registerService();
  const label = 'label: at most 100 characters, without control characters';
  const seconds = 'expiresAt: give whole seconds since 1970';
  const mistakes: [object, string][] = [
    [{ label: 'x'.repeat(101) }, label],
    [{ label: 'two\nlines' }, label],
    [{ label: 'a\u202Eb' }, label],
    [{ expiresAt: now() }, 'expiresAt: give a time in the future'],
    [{ expiresAt: Date.now() + 86_400_000 }, seconds],
    [{ expiresAt: now() + 0.5 }, seconds],
    [{ label: '\0', expiresAt: -1 }, `${label}; expiresAt: give a time in the future`],
  ];
  for (const [options, message] of mistakes) {
    await t.throwsAsync(clients.addSecret(client.id, options), { code: 'ERR_CLIENT_INVALID', message });
  }
  await t.throwsAsync(clients.rotateSecret(client.id, { overlap: 'soon' as '1 hour' }), {
    code: 'ERR_CLIENT_INVALID',
    message: "overlap: give seconds, or a number and a unit such as '1 hour'",
  });
  await t.throwsAsync(clients.rotateSecret(client.id, { label: '\n' }), { message: label });
  t.is((await clients.secrets(client.id)).length, 1);

  const { client: ofPublic } = await here.registerApp({ confidential: false });
  const refused = { code: 'ERR_CLIENT_INVALID', message: 'confidential: a public client has no secrets' };
  await t.throwsAsync(clients.addSecret(ofPublic.id), refused);
  await t.throwsAsync(clients.rotateSecret(ofPublic.id), refused);
});

test.serial('a client has at most 20 secrets; expired ones are deleted when another is added', async (t) => {
  const { here, clients } = await started();
  const service = await here.registerService();
  const { id } = service.client;
  await clients.addSecret(id, { label: 'brief', expiresAt: now() + 60 });
  for (let count = 2; count < 20; count += 1) await clients.addSecret(id);
  const refused = {
    code: 'ERR_CLIENT_INVALID',
    message: 'label: a client has at most 20 secrets; delete one that is not used',
  };
  await t.throwsAsync(clients.addSecret(id), refused);
  await t.throwsAsync(clients.rotateSecret(id, { overlap: 60 }), refused);
  t.true((await works(service, service.secret))[0]);

  passTime(60);
  const labels = async (): Promise<string[]> => (await clients.secrets(id)).map(({ label }) => label);
  t.true((await labels()).includes('brief'), 'expired secrets are listed until then');
  await clients.addSecret(id, { label: 'new' });
  t.false((await labels()).includes('brief'));
  t.is((await labels()).length, 20);

  await clients.rotateSecret(id, { label: 'only' });
  t.deepEqual(await labels(), ['only'], 'a rotation without overlap is possible at the limit');
});

test.serial('the list has the time of the last use, and neither the value nor its hash', async (t) => {
  const { here, clients } = await started();
  const service = await here.registerService();
  const usedFrom = now();
  await works(service, service.secret);
  await until(async () => (await clients.secrets(service.client.id))[0]?.lastUsedAt !== undefined);
  const [first, ...more] = await clients.secrets(service.client.id);
  t.deepEqual(more, []);
  t.like(first, { label: 'first', hint: service.secret.slice(-4) });
  t.true(first!.lastUsedAt! >= usedFrom && first!.lastUsedAt! <= now());
  t.false(JSON.stringify(first).includes(service.secret));
  const added = await clients.addSecret(service.client.id);
  for (const given of [first, added]) t.false('hash' in given!);
});

test.serial('when the last use cannot be recorded, a token is issued and the error is logged', async (t) => {
  const { broken, storage: own } = breakable(memoryStorage(), new Error('unreachable'));
  broken.add('clients.touchSecret');
  await using platform = await startPlatform({ storage: own });
  const { client, secret } = await platform.registerService();
  const asked = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  t.is((await platform.token(asked)).status, 200);
  await platform.auth.close();
  const line = platform.logger.lines.find(({ level }) => level === 'warn');
  t.like(line, {
    message: 'recording the last use of a client secret failed',
    fields: { err: { message: 'unreachable' }, client_id: client.id },
  });
});

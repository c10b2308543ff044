import test from '../harness/test.ts';
import { personalTokens as withTokens, defineAction, defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { fakeClock } from 'koa-gatehouse/testing';
import { z } from 'zod';

import { makePersonalTokenValue } from '../../lib/features/personal-tokens/value.ts';
import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { clusterOn } from '../harness/cluster.ts';
import { like } from '../harness/like.ts';
import { gate, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { altered } from '../harness/tokens.ts';

const personal = { features: [withTokens()] } as const;
const NIGHTLY = {
  userId: '1',
  name: 'Nightly import',
  lifetime: '30 days',
  scopes: ['schools:read'],
} as const;

function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** The status and the code of the answer to a token. */
async function answerTo(platform: Platform, token: string, path = '/identity'): Promise<string> {
  const { body, status } = await platform.api(path, token);
  return [status, body['code']].filter(Boolean).join(' ');
}

test('a token speaks for its user, with its scopes and what the user has at each request', async (t) => {
  await using platform = await startPlatform({ features: [withTokens()], tokens: { revocationLag: 1 } });
  const { auth, users } = platform;
  const created = await auth.personalTokens.create(NIGHTLY);
  t.regex(created.value, /^gatehouse_pat_[0-9A-Za-z]{49}$/);
  const { value: _value, ...listed } = created;
  t.deepEqual(await auth.personalTokens.list('1'), [listed]);
  like(t, (await platform.api('/identity', created.value)).body['data'], {
    type: 'user',
    id: '1',
    client_id: null,
    permissions: ['view_schools'],
    scopes: ['schools:read'],
  });
  t.is(await answerTo(platform, created.value, '/schools'), '200');

  users.all[0] = { ...users.all[0]!, permissions: [], roles: [] };
  await until(async () => (await answerTo(platform, created.value, '/schools')) === '403 missing_permission');
  users.all[0] = { ...users.all[0], roles: ['registrar'] };
  await until(async () => (await answerTo(platform, created.value, '/schools')) === '200');
  const { body } = await platform.api('/identity', created.value);
  like(t, body['data'], { permissions: ['view_schools'], withheld_permissions: ['edit_schools'] });
});

test('a wrong checksum, another API and a token without the option are refused without a statement', async (t) => {
  const called: string[] = [];
  const storage = around(memoryStorage(), async (name, call) => {
    // A timer writes the last use, whatever the requests of the test are by then.
    if (/^(personalTokens|revocations|sessions|grants)\.(?!recordUse$)/.test(name)) called.push(name);
    return call();
  });
  await using platform = await startPlatform({ storage, ...personal, tokens: { revocationLag: 60 } });
  const { value } = await platform.auth.personalTokens.create(NIGHTLY);
  called.length = 0;
  // The last but one differs in a digit in the middle.
  const typo = value.replace(/(?<=_pat_\w{20})\w/, (digit) => (digit === 'x' ? 'y' : 'x'));
  for (const token of [altered(value), `${value}0`, value.slice(0, -1), typo, `${value}\u00e9`])
    t.is(await answerTo(platform, token), '401 token_malformed');
  // In the form of an access token.
  t.is(await answerTo(platform, 'gatehouse_pat_A.A.AAAA'), '401 token_invalid');
  t.deepEqual(called, []);
  t.is(await answerTo(platform, makePersonalTokenValue()), '401 token_invalid');
  t.deepEqual(called, ['personalTokens.findByHash']);

  await using off = await startPlatform({ storage });
  called.length = 0;
  t.is(await answerTo(off, value), '401 token_malformed');
  t.deepEqual(called, []);

  for (let index = 0; index < 3; index += 1) t.is(await answerTo(platform, value), '200');
  t.deepEqual(called, ['personalTokens.findByHash'], 'a known token needs no statement');

  t.false('personalTokens' in off.auth);
  t.throws(() => off.auth.featureMembers(withTokens()), { code: 'ERR_CONFIG' });
});

test('where the gate has use_personal_tokens, a user needs it; without scopes, permissions limit a token', async (t) => {
  const withPermission = defineGate({
    permissions: { view_schools: 'View', edit_schools: 'Edit', use_personal_tokens: 'Use personal tokens' },
    roles: { registrar: ['view_schools', 'edit_schools'] },
  });
  await using platform = await startPlatform({
    gate: withPermission as unknown as typeof gate,
    scopes: {},
    features: [withTokens()],
    tokens: { revocationLag: 1 },
  });
  const { auth, users } = platform;
  const { personalTokens } = auth;
  const token = { userId: '3', name: 'a', lifetime: '1 day', permissions: ['view_schools'] } as const;
  const { value } = await personalTokens.create(token);
  t.is(await answerTo(platform, value), '401 token_not_allowed');
  users.all[2] = { ...users.all[2]!, permissions: ['use_personal_tokens' as 'view_schools'] };
  t.is(await answerTo(platform, value, '/schools'), '200');
  like(t, (await platform.api('/identity', value)).body['data'], {
    permissions: ['view_schools'],
    scopes: [],
  });
  const none = await personalTokens.create({ userId: '3', name: 'b', lifetime: '1 day' });
  t.is(await answerTo(platform, none.value, '/schools'), '403 insufficient_scope');
});

test('create says what is wrong with each field, and allows as many as perUser', async (t) => {
  await using platform = await startPlatform({
    features: [withTokens({ perUser: 2, maxLifetime: '90 days' })],
  });
  const { create, revoke } = platform.auth.personalTokens;
  const mistakes: [object, string][] = [
    [{ userId: 'nobody' }, 'userId: users.find() finds no user with this id'],
    [{ name: ' ' }, 'name: give a name of 1 to 100 characters'],
    [{ name: 'a\u202eb' }, 'name: leave out control characters'],
    [{ lifetime: '91 days' }, 'lifetime: at most 7776000 s, which is the option maxLifetime'],
    [{ lifetime: 'soon' }, "lifetime: give seconds, or a number and a unit such as '1 hour'"],
    [{ lifetime: 0 }, 'lifetime: give at least 1 s'],
    [{ scopes: [] }, 'scopes: choose at least one scope'],
    [{ scopes: 'schools:read' }, 'scopes: give an array of strings'],
    [{ scopes: ['all'] }, 'scopes: there is no scope "all"'],
    [{ permissions: ['view_schools'] }, 'permissions: this API has scopes; give scopes'],
    [
      { resource: 'https://other.example' },
      'resource: the server has no such API; give the URL of one of the option resources',
    ],
  ];
  for (const [wrong, message] of mistakes)
    await t.throwsAsync(create({ ...NIGHTLY, ...wrong }), { code: 'ERR_PERSONAL_TOKEN_INVALID', message });
  await t.throwsAsync(create({ ...NIGHTLY, expires: 1 } as typeof NIGHTLY), { code: 'ERR_CONFIG' });
  const first = await create(NIGHTLY);
  await create(NIGHTLY);
  await t.throwsAsync(create(NIGHTLY), {
    message: 'userId: a user can have at most 2 personal access tokens; end one first',
  });
  t.true(await revoke(first.id));
  t.false(await revoke(first.id));
  t.is(await answerTo(platform, first.value), '401 token_invalid');
  await create(NIGHTLY);
});

test('a token is for its API alone', async (t) => {
  const API = 'https://api.example/v1';
  const scopes = { read: { description: 'Read', permissions: ['view_schools'] as const } };
  await using platform = await startPlatform(
    { ...personal, resources: { [API]: { scopes } } },
    {
      behind({ auth }) {
        const [own, other] = [auth.guard(), auth.guard({ resource: API })];
        return [
          (ctx, next) => (ctx.path === '/other' ? other(ctx, next) : own(ctx, next)),
          (ctx) => (ctx.body = ctx.state['principal']),
        ];
      },
    },
  );
  const { create } = platform.auth.personalTokens;
  const here = await create(NIGHTLY);
  const there = await create({ ...NIGHTLY, resource: API, scopes: ['read'] });
  const get = async (path: string, { value }: typeof here): Promise<[number, unknown]> => {
    const { body, status } = await send(new URL(path, platform.origin), { headers: bearer(value) });
    return [status, body?.['code'] ?? [body?.['credential'], body?.['token']]];
  };
  t.deepEqual(await get('/', here), [200, ['personal_token', { id: here.id, name: 'Nightly import' }]]);
  t.deepEqual(await get('/other', there), [
    200,
    ['personal_token', { id: there.id, name: 'Nightly import' }],
  ]);
  t.deepEqual(await get('/other', here), [401, 'token_invalid']);
  t.deepEqual(await get('/', there), [401, 'token_invalid']);
});

test.serial('a token ends at its time', async (t) => {
  await using platform = await startPlatform(personal);
  const { value } = await platform.auth.personalTokens.create({ ...NIGHTLY, lifetime: '1 hour' });
  using clock = fakeClock();
  clock.advance('59 minutes');
  t.is(await answerTo(platform, value), '200');
  clock.advance('1 minute');
  t.is(await answerTo(platform, value), '401 token_invalid');
  t.deepEqual(await platform.auth.personalTokens.list('1'), []);
});

test('a removed or ended user, and the end of all, end tokens; a user who comes back does not get them again', async (t) => {
  await using platform = await startPlatform({ features: [withTokens()], tokens: { revocationLag: 1 } });
  const { auth, users } = platform;
  const create = async (): Promise<string> => (await auth.personalTokens.create(NIGHTLY)).value;
  for (const targetOf of [() => ({ userId: '1' }), () => ({ all: true }), (token: string) => ({ token })]) {
    const value = await create();
    t.is(await answerTo(platform, value), '200');
    await auth.revoke(targetOf(value) as { userId: string });
    t.is(await answerTo(platform, value), '401 token_invalid');
  }
  const kept = await create();
  t.is(await answerTo(platform, kept), '200');
  const [ann] = users.all.splice(0, 1);
  await until(async () => (await answerTo(platform, kept)) === '401 token_holder_gone');
  users.all.unshift(ann!);
  t.is(await answerTo(platform, kept), '401 token_invalid');
  t.is(await answerTo(platform, await create()), '200');
});

test('idempotency keys and limits of programs are those of each token', async (t) => {
  const renamed: string[] = [];
  const rename = defineAction({
    gate,
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename',
    permission: 'view_schools',
    input: z.object({ name: z.string() }),
    output: z.object({}),
    run({ input }) {
      renamed.push(input.name);
      return {};
    },
  });
  const api = { actions: [rename], limits: { client: { requests: 2, window: '1 hour' } } } as const;
  await using platform = await startPlatform(personal, { api });
  const url = platform.url('/api/v1/actions/school/1/rename-school-action');
  const key = { 'idempotency-key': '1c9a4d1e-0000-4000-8000-000000000000' };
  const { create } = platform.auth.personalTokens;
  const [one, two] = [await create(NIGHTLY), await create(NIGHTLY)];
  for (const [{ value }, name, status] of [
    [one, 'A', 200],
    [one, 'A', 200],
    [two, 'B', 200],
    [one, 'A', 429],
    [two, 'B', 200],
  ] as const)
    t.is((await postJson(url, { name }, { ...bearer(value), ...key })).status, status);
  t.deepEqual(renamed, ['A', 'B']);
});

test('events tell of the creation, the first use from each network and the end, and no line has the token', async (t) => {
  await using platform = await startPlatform(personal, { koa: { proxy: true } });
  const { auth, logger } = platform;
  const events: string[] = [];
  auth.events.on('*', (event) => events.push(`${event.type} ${event.address ?? ''}`.trim()));
  const { id, value } = await auth.personalTokens.create(NIGHTLY);
  const call = async (address: string): Promise<number> => {
    const headers = { ...bearer(value), 'x-forwarded-for': address };
    return (await send(platform.url('/api/v1/identity'), { headers })).status;
  };
  for (const address of ['198.51.100.7', '198.51.100.8', '2001:db8::1', '198.51.100.7', '2001:db8:0:ffff::2'])
    t.is(await call(address), 200);
  await until(() => events.length === 3);
  t.is((await auth.personalTokens.list('1'))[0]?.lastUsedFrom, '2001:db8::1');
  await auth.personalTokens.revoke(id);
  t.deepEqual(events, [
    'personal_token_created',
    'personal_token_used 198.51.100.7',
    'personal_token_used 2001:db8::1',
    'personal_token_revoked',
  ]);
  const stored = JSON.stringify(await auth.audit.list({ userId: '1' }));
  t.true(stored.includes(id));
  t.false(`${stored}${JSON.stringify(logger.lines)}`.includes('gatehouse_pat_'));
});

onEachDatabase(
  'what one node ends, the other refuses; twenty creations share the places of a user',
  async (t, database, address) => {
    const cluster = clusterOn(t, address);
    const tokens = { revocationLag: database.name === 'PostgreSQL' ? 3600 : 1 };
    const given = { features: [withTokens({ perUser: 5 })], tokens };
    const [one, two] = [await cluster.start(given), await cluster.start(given)];
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, index) =>
        (index % 2 ? one : two).auth.personalTokens.create(NIGHTLY),
      ),
    );
    const created = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    t.is(created.length, 5);
    for (const { reason } of results.filter((result) => result.status === 'rejected'))
      t.is(reason.code, 'ERR_PERSONAL_TOKEN_INVALID');
    const [first, second] = created as [(typeof created)[0], (typeof created)[0]];
    for (const { value } of created) t.is(await answerTo(two, value), '200');
    const contents = JSON.stringify([...(await contentsOf(database, address))]);
    t.true(contents.includes(first.id));
    t.false(contents.includes('gatehouse_pat_'));
    await one.auth.personalTokens.revoke(first.id);
    t.is(await answerTo(one, first.value), '401 token_invalid');
    await until(async () => (await answerTo(two, first.value)) === '401 token_invalid');
    t.is(await answerTo(two, second.value), '200');
    await one.auth.revoke({ userId: '1' });
    await until(async () => (await answerTo(two, second.value)) === '401 token_invalid');
    t.deepEqual(await two.auth.personalTokens.list('1'), []);
    await two.auth.personalTokens.create(NIGHTLY);
  },
);

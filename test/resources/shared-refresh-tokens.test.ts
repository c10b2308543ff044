// The processes of an agent share one refresh token, without telling each other of the next one.
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { authorize } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { exchangeCode, exchangeRefreshToken as refresh, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { APIS, ARCHIVE, DOCUMENTS, startApis, startNodes, statusOf } from './apis.ts';

const FOR_DOCUMENTS = { resource: DOCUMENTS, scope: 'read' };
const MINUTE = 60;

const started = shared(async (stack) => {
  const nodes = await startNodes(stack);
  const { here, there } = nodes;
  return { here, there };
});

async function registerAgent(platform: Platform): Promise<RegisteredApp> {
  return platform.registerApp({ name: 'Agent', confidential: false, firstParty: true });
}

/** Authorizes an app, and rotates its refresh token. Resolves to all refresh tokens, the oldest one first. */
async function rotate(
  platform: Platform,
  app: RegisteredApp,
  { times, ...parameters }: { times: number; resource?: string; scope?: string },
): Promise<readonly string[]> {
  const { parameters: challenge, verifier } = pkce();
  const code = (await authorize(platform, app, { parameters: { ...parameters, ...challenge } })).get('code');
  const { body } = await exchangeCode(platform, app, code, { code_verifier: verifier });
  const tokens = [body.refresh_token];
  while (tokens.length <= times)
    tokens.push((await refresh(platform, app, tokens.at(-1)!)).body.refresh_token);
  return tokens;
}

async function reuseOf(platform: Platform, { client }: RegisteredApp): Promise<readonly unknown[]> {
  const types = ['refresh_token_reused'] as const;
  const records = await platform.auth.audit.list({ clientId: client.id, types });
  return records.map((record) => 'generations' in record && record.generations);
}

test('each spent refresh token leads to the current one, on every node', async (t) => {
  const { here, there } = await started();
  const agent = await registerAgent(here);
  const tokens = await rotate(here, agent, { ...FOR_DOCUMENTS, times: 4 });
  const current = tokens.at(-1)!;
  for (const [place, token] of tokens.slice(0, -1).entries()) {
    const { body, status } = await refresh(place % 2 ? here : there, agent, token, { resource: DOCUMENTS });
    t.is(status, 200);
    t.is(body.refresh_token, current);
    t.is(body.scope, 'read');
    t.is(await statusOf(here, '/documents/list', body.access_token), 200);
  }
  const events = [await reuseOf(here, agent), await reuseOf(there, agent)].flat();
  t.true(events.length >= 4, 'each is recorded');
  const { body } = await refresh(there, agent, current);
  t.not(body.refresh_token, current);
  t.is((await refresh(here, agent, tokens[0]!)).body.refresh_token, body.refresh_token);
});

onEachDatabase(
  'spent refresh tokens of which two nodes find the current one while it is rotated lead to one family',
  async (t, _, address) => {
    const onDatabase = await startNodes(t, knexStorage(address), knexStorage(address));
    const { here: one, there: other } = onDatabase;
    const agent = await registerAgent(one);
    const tokens = [...(await rotate(one, agent, { ...FOR_DOCUMENTS, times: 3 }))];
    for (let round = 0; round < 4; round += 1) {
      const presented = [...tokens.slice(-4), tokens.at(-1)!, tokens.at(-1)!];
      const answers = await Promise.all(
        presented.map(async (token, index) => refresh(index % 2 ? one : other, agent, token)),
      );
      t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
      // The one before, for those that were answered before it was rotated, and its successor.
      const found = new Set(answers.map(({ body }) => body.refresh_token));
      found.delete(tokens.at(-1)!);
      t.is(found.size, 1);
      tokens.push(...found);
    }
    const all = await Promise.all(tokens.map(async (token) => refresh(one, agent, token)));
    const unspent = new Set(all.map(({ body }) => body.refresh_token));
    t.true(unspent.size <= 2, 'the current one, and its successor');
  },
);

// It ends all tokens of the user.
test.serial(
  'a spent refresh token helps no revoked grant, ended user, other client or other API',
  async (t) => {
    const { here, there } = await started();
    const agent = await registerAgent(here);
    const other = await registerAgent(here);
    const ask = async (token: string | undefined, by = agent, given = {}): Promise<object> =>
      (await refresh(there, by, token, given)).body;

    const [spent, current] = await rotate(here, agent, { ...FOR_DOCUMENTS, times: 1 });
    t.deepEqual(await ask(spent, other), REFUSED_GRANT);
    t.like(await ask(spent, agent, { resource: ARCHIVE }), { error: 'invalid_target' });
    t.like(await ask(spent, agent, { scope: 'write' }), { error: 'invalid_scope' });
    t.like(await ask(spent), { refresh_token: current });
    await here.auth.revoke({ token: current! });
    t.deepEqual(await ask(spent), REFUSED_GRANT);

    const [ofUser] = await rotate(here, agent, { ...FOR_DOCUMENTS, times: 2 });
    await here.auth.revoke({ userId: '1' });
    t.deepEqual(await ask(ofUser), REFUSED_GRANT);

    const [ofClient] = await rotate(here, agent, { ...FOR_DOCUMENTS, times: 2 });
    await here.auth.clients.disable(agent.client.id);
    t.like((await refresh(here, agent, ofClient)).body, { error: 'invalid_client' });

    const ofRemoved = await rotate(here, other, { ...FOR_DOCUMENTS, times: 2 });
    const [ann] = here.users.all.splice(0, 1);
    t.deepEqual(await ask(ofRemoved[0], other), REFUSED_GRANT);
    t.deepEqual(await ask(ofRemoved[2], other), REFUSED_GRANT);
    here.users.all.unshift(ann!);
  },
);

onEachDatabase(
  'a thief who refreshes until the agent’s own token is too old to be followed is noticed, and has nothing',
  async (t, _, address) => {
    const options = { limits: { refreshes: 0 } };
    const onDatabase = await startNodes(t, knexStorage(address), knexStorage(address), options);
    const { here: thief, there: agent } = onDatabase;
    const app = await registerAgent(thief);
    const stolen = await rotate(thief, app, { ...FOR_DOCUMENTS, times: 256 });
    t.is(
      (await refresh(agent, app, stolen[0])).body.refresh_token,
      stolen.at(-1)!,
      'as far as it can be followed',
    );
    const { body } = await refresh(thief, app, stolen.at(-1)!);
    t.is(body.scope, 'read');
    // Two processes of the agent, on two nodes.
    const answers = await Promise.all([refresh(agent, app, stolen[0]), refresh(thief, app, stolen[0])]);
    for (const answer of answers) t.deepEqual(answer.body, REFUSED_GRANT);
    for (const token of [stolen[1], stolen.at(-1), body.refresh_token])
      t.deepEqual((await refresh(thief, app, token)).body, REFUSED_GRANT);
    for (const node of [thief, agent])
      t.deepEqual(await statusOf(node, '/documents/identity', body.access_token), [401, 'token_revoked']);
    const query = { clientId: app.client.id, types: ['refresh_token_reused', 'tokens_revoked'] } as const;
    // By both nodes, each of which writes its own events within a second.
    const events = [await thief.auth.audit.list(query), await agent.auth.audit.list(query)].flat();
    t.true(events.some((event) => event.type === 'tokens_revoked' && event.userId === '1'));
    t.true(
      events.some(
        (event) =>
          event.type === 'refresh_token_reused' && event.generations === 256 && event.resource === DOCUMENTS,
      ),
    );
  },
);

test.serial('a chain that was pruned cannot be followed either', async (t) => {
  using _stopped = stopClock();
  await using platform = await startApis();
  const agent = await registerAgent(platform);
  const [first, second] = await rotate(platform, agent, { ...FOR_DOCUMENTS, times: 1 });
  // Lowered for one rotation, so that the third expires before the first.
  await platform.auth.clients.update(agent.client.id, { lifetimes: { refreshToken: MINUTE } });
  const third = (await refresh(platform, agent, second)).body.refresh_token;
  await platform.auth.clients.update(agent.client.id, { lifetimes: {} });
  const fourth = (await refresh(platform, agent, third)).body.refresh_token;
  t.is((await refresh(platform, agent, first)).body.refresh_token, fourth);
  passTime(MINUTE + 1);
  t.is(await platform.auth.prune(), 3, 'the code, the third, and a count of attempts');
  t.deepEqual((await refresh(platform, agent, first)).body, REFUSED_GRANT);
  t.deepEqual((await refresh(platform, agent, fourth)).body, REFUSED_GRANT, 'the family is revoked');
});

test.serial('the current refresh token that has expired ends nothing else', async (t) => {
  using _stopped = stopClock();
  await using platform = await startApis();
  const agent = await registerAgent(platform);
  const [first] = await rotate(platform, agent, { ...FOR_DOCUMENTS, times: 0 });
  await platform.auth.clients.update(agent.client.id, { lifetimes: { refreshToken: MINUTE } });
  const { body } = await refresh(platform, agent, first);
  passTime(MINUTE + 1);
  for (const token of [first, body.refresh_token])
    t.deepEqual((await refresh(platform, agent, token)).body, REFUSED_GRANT);
  t.is(await statusOf(platform, '/documents/list', body.access_token), 200);
});

const PREFIXES: Readonly<Record<string, string>> = { [DOCUMENTS]: '/documents', [ARCHIVE]: '/archive' };

/** Checks that a spent refresh token leads to the current one for a time and no longer, however often it is used. */
async function lasts(
  t: ExecutionContext,
  platform: Platform,
  { app, seconds, ...parameters }: { app: RegisteredApp; seconds: number; resource?: string; scope?: string },
): Promise<void> {
  using _stopped = stopClock();
  const [first, second] = await rotate(platform, app, { ...parameters, times: 1 });
  passTime(seconds / 2);
  const third = (await refresh(platform, app, second)).body.refresh_token;
  t.is((await refresh(platform, app, first)).body.refresh_token, third);
  passTime(seconds / 2 - 1);
  const { access_token: access, refresh_token: current } = (await refresh(platform, app, first)).body;
  t.is(current, third);
  passTime(1);
  t.is((await refresh(platform, app, second)).body.refresh_token, third, 'counted from its own rotation');
  t.deepEqual((await refresh(platform, app, first)).body, REFUSED_GRANT);
  t.deepEqual((await refresh(platform, app, third)).body, REFUSED_GRANT, 'the family is revoked');
  const prefix = PREFIXES[parameters.resource ?? ''] ?? '/api/v1';
  t.deepEqual(await statusOf(platform, `${prefix}/identity`, access), [401, 'token_revoked']);
}

test.serial('public clients of an API share a refresh token for an hour, others for a minute', async (t) => {
  const { here } = await started();
  const agent = await registerAgent(here);
  const confidential = await here.registerApp({ firstParty: true });
  await lasts(t, here, { app: agent, seconds: 60 * MINUTE, ...FOR_DOCUMENTS });
  await lasts(t, here, { app: agent, seconds: MINUTE, scope: 'schools:read' });
  await lasts(t, here, { app: confidential, seconds: MINUTE, ...FOR_DOCUMENTS });
});

test.serial('refreshGrace of an API is for its public clients', async (t) => {
  const documents = { ...APIS.resources![DOCUMENTS]!, refreshGrace: '10 minutes' } as const;
  const resources = { ...APIS.resources, [DOCUMENTS]: documents };
  await using platform = await startApis({ resources, tokens: { refreshGrace: '2 minutes' } });
  const agent = await registerAgent(platform);
  const confidential = await platform.registerApp({ firstParty: true });
  await lasts(t, platform, { app: agent, seconds: 10 * MINUTE, ...FOR_DOCUMENTS });
  await lasts(t, platform, { app: agent, seconds: 60 * MINUTE, resource: ARCHIVE, scope: 'read' });
  await lasts(t, platform, { app: confidential, seconds: 2 * MINUTE, ...FOR_DOCUMENTS });
});

test('without a grace the first reuse revokes, at APIs too unless they have their own', async (t) => {
  const archive = { ...APIS.resources![ARCHIVE]!, refreshGrace: '1 minute' } as const;
  const resources = { ...APIS.resources, [ARCHIVE]: archive };
  await using platform = await startApis({ resources, tokens: { refreshGrace: 0 } });
  const agent = await registerAgent(platform);
  for (const token of await rotate(platform, agent, { ...FOR_DOCUMENTS, times: 1 }))
    t.deepEqual((await refresh(platform, agent, token)).body, REFUSED_GRANT);
  const tokens = await rotate(platform, agent, { resource: ARCHIVE, scope: 'read', times: 2 });
  t.is((await refresh(platform, agent, tokens[0]!)).body.refresh_token, tokens[2]!);
});

import test from '../harness/test.ts';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { Action, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { onEachDatabase } from '../adapters/databases.ts';
import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { around, breakable } from '../harness/storage.ts';
import type { ApiRouterOptions } from '../../lib/api/router.ts';
import type { Middleware } from 'koa';

type Permission = 'view_schools' | 'edit_schools';
type Options = Pick<ApiRouterOptions<Permission, Person>, 'limits' | 'openapi' | 'prefix' | 'actions'>;

const ISSUER = 'http://127.0.0.1:3000';
const MINUTE = '1 minute';
const CLEO = '3';

const common = { type: 'school', permission: 'edit_schools', output: z.object({}), run: () => ({}) } as const;

function createSchool(given: Pick<Parameters<typeof defineAction>[0], 'limit'> = {}): Action<Permission> {
  return defineAction({
    ...common,
    name: 'create-school-action',
    level: 'collection',
    title: 'Create a school',
    input: z.object({ name: z.string() }),
    ...given,
  });
}

const closeSchool = defineAction({
  ...common,
  name: 'close-school-action',
  level: 'instance',
  title: 'Close a school',
  input: z.object({}),
});

interface Node extends AsyncDisposable {
  readonly platform: Platform;
  /** Calls of the storage that count attempts. */
  readonly counted: string[];
  /** Sends a request to the API; with a body, a POST. */
  api(path: string, token?: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** The statuses of requests for the schools, one after the other. */
  schools(...tokens: string[]): Promise<number[]>;
  /** The statuses of that many runs of an action, one after the other. */
  run(path: string, token: string, count: number, headers?: Record<string, string>): Promise<number[]>;
  /** Registers a client, and issues it a token of a user. */
  tokenOf(user: string): Promise<string>;
  /** Registers a client, and issues it a token of its own. */
  ownToken(permissions?: readonly Permission[]): Promise<string>;
}

async function startNode(options: Options, storage: Storage = memoryStorage()): Promise<Node> {
  const counted: string[] = [];
  const platform = await startPlatform(
    {
      issuer: ISSUER,
      storage: around(storage, async (name, call) => {
        if (name.startsWith('attempts.')) counted.push(name);
        return call();
      }),
    },
    { api: options, routes: (api) => api.get('/schools', (ctx) => (ctx.body = { data: [] })) },
  );
  const { auth } = platform;
  // The issuer is the same on every node, so requests go to the node's own origin.
  const api: Node['api'] = async (path, token, body, headers = {}) => {
    const given = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
    const url = `${platform.origin}/api/v1${path}`;
    return body === undefined ? send(url, { headers: given }) : postJson(url, body, given);
  };
  return {
    platform,
    counted,
    api,
    async schools(...tokens) {
      const statuses: number[] = [];
      for (const token of tokens) statuses.push((await api('/schools', token)).status);
      return statuses;
    },
    async run(path, token, count, headers) {
      const statuses: number[] = [];
      while (statuses.length < count)
        statuses.push((await api(path, token, { name: 'Hill' }, headers)).status);
      return statuses;
    },
    async tokenOf(user) {
      const { client } = await platform.registerApp();
      return auth.issueToken({ clientId: client.id, userId: user });
    },
    async ownToken(permissions) {
      const { client } = await platform.registerService(permissions);
      return auth.issueToken({ clientId: client.id });
    },
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

const CREATE = '/actions/school/create-school-action';

function fieldsOf({ headers }: Answer): readonly [string | null, string | null] {
  return [headers.get('ratelimit-policy'), headers.get('ratelimit')];
}

// Sets the clock ahead: the tests below it start afterwards.
test.serial('over the limit the response is 429 with Retry-After and the RateLimit fields', async (t) => {
  await using node = await startNode({ limits: { user: { requests: 3, window: MINUTE } } });
  const token = await node.tokenOf(CLEO);
  for (const left of [2, 1, 0]) {
    const answer = await node.api('/schools', token);
    t.is(answer.status, 200);
    const [policy, limit] = fieldsOf(answer);
    t.is(policy, '"user";q=3;w=60');
    t.regex(limit!, new RegExp(`^"user";r=${left};t=(60|5\\d)$`));
    t.is(answer.headers.get('retry-after'), null);
  }
  passTime(10);
  const refused = await node.api('/schools', token);
  const seconds = Number(refused.headers.get('retry-after'));
  t.true(seconds <= 50 && seconds > 40, `${seconds}`);
  t.deepEqual(fieldsOf(refused), ['"user";q=3;w=60', `"user";r=0;t=${seconds}`]);
  t.is(refused.status, 429);
  t.is(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  t.is(refused.headers.get('cache-control'), 'no-store');
  const detail = `The limit "user" of 3 requests in 60 seconds is reached. Try again in ${seconds} seconds.`;
  t.deepEqual(refused.body, {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail,
    code: 'too_many_requests',
    message: detail,
    'violated-policies': ['user'],
  });
  passTime(seconds);
  t.is((await node.api('/schools', token)).status, 200, 'the next window');
});

test('a limit of a user counts the requests through all clients, and not those of clients and other users', async (t) => {
  await using node = await startNode({ limits: { user: { requests: 2, window: MINUTE } } });
  const [one, another, other] = [await node.tokenOf(CLEO), await node.tokenOf(CLEO), await node.tokenOf('2')];
  t.is((await node.api('/identity', another)).status, 200);
  t.deepEqual(await node.schools(one, one, other), [200, 429, 200]);
  const own = await node.ownToken();
  t.deepEqual(await node.schools(own, own, own), [200, 200, 200]);
  t.deepEqual(fieldsOf(await node.api('/schools', own)), [null, null]);
});

test('a limit of a client counts its own requests and those of all its users, and observers are told of each refusal', async (t) => {
  await using node = await startNode({ limits: { client: { requests: 2, window: MINUTE } } });
  const codes: string[] = [];
  node.platform.auth.observe({
    guarded: (outcome) => codes.push(outcome.admitted ? 'admitted' : outcome.code),
  });
  const { client } = await node.platform.registerApp();
  const issue = async (user: string) => node.platform.auth.issueToken({ clientId: client.id, userId: user });
  const [ann, bob, own] = [await issue('1'), await issue('2'), await node.ownToken()];
  t.deepEqual(await node.schools(ann, bob), [200, 200]);
  const refused = await node.api('/schools', bob);
  t.is(refused.status, 429);
  t.deepEqual(refused.body!['violated-policies'], ['client']);
  t.deepEqual(codes, ['admitted', 'admitted', 'admitted', 'too_many_requests'], 'what observers are told');
  const through = await node.tokenOf('2');
  t.deepEqual(await node.schools(through, own, own, own), [200, 200, 200, 429], 'through another client');
});

test('a request that one limit refuses is not counted under the others', async (t) => {
  await using node = await startNode({
    limits: { user: { requests: 4, window: MINUTE }, client: { requests: 2, window: MINUTE } },
  });
  const token = await node.tokenOf(CLEO);
  t.deepEqual(await node.schools(token, token, token, token, token), [200, 200, 429, 429, 429]);
  const answer = await node.api('/schools', await node.tokenOf(CLEO));
  t.is(answer.status, 200);
  t.is(answer.headers.get('ratelimit-policy'), '"user";q=4;w=60, "client";q=2;w=60');
  t.regex(answer.headers.get('ratelimit')!, /^"user";r=1;t=\d+, "client";r=1;t=\d+$/);
});

test('a limit of an action counts its runs by a user or a client; its own replaces that of the API', async (t) => {
  await using node = await startNode({
    actions: [createSchool({ limit: { requests: 3, window: '1 hour' } }), closeSchool],
    limits: { action: { requests: 1, window: MINUTE } },
  });
  const token = await node.tokenOf(CLEO);
  const close = '/actions/school/7/close-school-action';
  t.is((await node.api('/actions/school/create-school-action', token)).status, 200, 'its description');
  t.is((await node.api(close, token, {})).status, 200);
  const refused = await node.api(close, await node.tokenOf(CLEO), {});
  t.is(refused.status, 429);
  t.is(refused.headers.get('ratelimit-policy'), '"school/close-school-action";q=1;w=60');
  t.deepEqual(refused.body!['violated-policies'], ['school/close-school-action']);
  t.deepEqual(await node.run(CREATE, token, 4), [200, 200, 200, 429]);
  t.deepEqual(await node.schools(token), [200], 'a route without a limit');
  t.deepEqual(await node.run(close, await node.ownToken(['edit_schools']), 2), [200, 429]);
});

test('a user and a client with the same id are limited apart', async (t) => {
  const storage = memoryStorage();
  const limits = { action: { requests: 2, window: MINUTE } } as const;
  await using node = await startNode({ actions: [createSchool()], limits }, storage);
  const { client } = await node.platform.registerService(['edit_schools']);
  await storage.clients.insert({ ...client, id: CLEO }, []);
  t.deepEqual(await node.run(CREATE, await node.tokenOf(CLEO), 3), [200, 200, 429]);
  const own = await node.platform.auth.issueToken({ clientId: CLEO });
  t.deepEqual(await node.run(CREATE, own, 3), [200, 200, 429]);
});

test('each item of a bulk counts, and a bulk for which too few are left does not run', async (t) => {
  await using node = await startNode({
    actions: [createSchool({ limit: { requests: 8, window: MINUTE } })],
    limits: { user: { requests: 12, window: MINUTE } },
  });
  const token = await node.tokenOf(CLEO);
  const bulk = async (count: number, headers = {}) => {
    const items = Array.from({ length: count }, (_, index) => ({ input: { name: `School ${index}` } }));
    return node.api(`${CREATE}/bulk`, token, { items }, headers);
  };
  const tooLarge = await bulk(9);
  t.is(tooLarge.status, 422, 'no window has room for it');
  t.deepEqual(tooLarge.body!['errors'], [{ pointer: '#/items', message: 'Give at most 8 items.' }]);
  const done = await bulk(5);
  t.is(done.status, 200);
  t.regex(
    done.headers.get('ratelimit')!,
    /^"user";r=6;t=\d+, "school\/create-school-action";r=3;t=\d+$/,
    'the one that was too large has counted as one request',
  );
  const refused = await bulk(4, { accept: 'application/x-ndjson' });
  t.is(refused.status, 429);
  t.regex(
    String(refused.body!['detail']),
    /^The limit "school\/create-school-action" of 8 requests in 60 seconds has 3 left, and this request needs 4\. Try/,
  );
  // The refused one has counted as one request, and as no run.
  const last = await bulk(3);
  t.is(last.status, 200);
  t.regex(last.headers.get('ratelimit')!, /^"user";r=2;t=\d+, "school\/create-school-action";r=0;t=\d+$/);
  t.is((await bulk(1)).status, 429);
});

test('a repeated request with an Idempotency-Key counts each time', async (t) => {
  const limits = { action: { requests: 2, window: MINUTE } } as const;
  await using node = await startNode({ actions: [createSchool()], limits });
  const token = await node.tokenOf(CLEO);
  t.deepEqual(await node.run(CREATE, token, 3, { 'idempotency-key': 'a' }), [200, 200, 429]);
});

test('requests without a valid token and the public description are not counted; a missing route is', async (t) => {
  await using node = await startNode({
    limits: { user: { requests: 2, window: MINUTE } },
    openapi: { access: 'public' },
  });
  const token = await node.tokenOf(CLEO);
  t.is((await node.api('/schools')).status, 401);
  t.deepEqual(await node.schools(`${token}x`), [401]);
  t.is((await node.api('/openapi.json', token)).status, 200);
  t.deepEqual(node.counted, []);
  for (const status of [404, 404, 429]) t.is((await node.api('/teachers', token)).status, status);
});

test('the description has the response and the largest bulk where there are limits', async (t) => {
  const actions = [createSchool(), closeSchool];
  const read = async (options: Options) => {
    await using node = await startNode({ ...options, actions, openapi: { access: 'public' } });
    const { body } = await node.api('/openapi.json');
    return body as { paths: Record<string, Record<string, { responses: object }>> };
  };
  const limited = await read({ limits: { action: { requests: 20, window: MINUTE } } });
  for (const [path, methods] of Object.entries(limited.paths)) {
    for (const { responses } of Object.values(methods)) t.true('429' in responses, path);
  }
  t.regex(JSON.stringify(limited.paths[`${CREATE}/bulk`]), /"maxItems":20\b/);
  t.regex(JSON.stringify(limited), /"RateLimit-Policy"/);
  const free = await read({});
  // That of callers to whom many streams are being sent.
  const ofStreams = Object.entries(free.paths).filter(([, { post }]) => post && '429' in post.responses);
  t.deepEqual(
    ofStreams.map(([path]) => path.split('/').at(-1)),
    ['bulk', 'bulk'],
  );
  t.notRegex(JSON.stringify(free), /RateLimit/);
  t.regex(JSON.stringify(free), /"maxItems":1000\b/);
});

test('without limits nothing is counted and no field is sent', async (t) => {
  await using node = await startNode({ actions: [createSchool()] });
  const token = await node.tokenOf(CLEO);
  for (const answer of [
    await node.api('/schools', token),
    await node.api(CREATE, token, { name: 'Hill' }),
    await node.api(`${CREATE}/bulk`, token, { items: [{ input: { name: 'a' } }, {}] }),
  ]) {
    t.is(answer.status, 200);
    t.deepEqual(fieldsOf(answer), [null, null]);
  }
  t.deepEqual(node.counted, []);
});

test('when the storage cannot be reached, requests are served from what the node has taken, then refused with 503', async (t) => {
  const { broken, storage } = breakable();
  await using node = await startNode({ limits: { user: { requests: 100, window: MINUTE } } }, storage);
  const token = await node.tokenOf(CLEO);
  t.deepEqual(await node.schools(token), [200]);
  broken.add('attempts.reserve');
  t.deepEqual(await node.schools(token), [200]);
  const refused = await node.api('/schools', token);
  t.is(refused.status, 503);
  t.is(refused.body!['code'], 'temporarily_unavailable');
  t.is(refused.headers.get('retry-after'), '5');
  broken.clear();
  t.deepEqual(await node.schools(token), [200]);
});

test('two routers with the same limit count together, with another limit apart', async (t) => {
  await using platform = await startPlatform(
    {},
    {
      api: { limits: { user: { requests: 3, window: MINUTE } } },
      behind: ({ auth }) =>
        (
          [
            ['/api/v2', MINUTE],
            ['/api/v3', '1 hour'],
          ] as const
        ).map(
          ([prefix, window]) =>
            createApiRouter({
              auth,
              prefix,
              limits: { user: { requests: 3, window } },
            }).routes() as Middleware,
        ),
    },
  );
  const { client } = await platform.registerApp();
  const headers = {
    authorization: `Bearer ${await platform.auth.issueToken({ clientId: client.id, userId: CLEO })}`,
  };
  for (const [version, status] of [
    ['v1', 200],
    ['v2', 200],
    ['v1', 200],
    ['v2', 429],
    ['v1', 429],
    ['v3', 200],
  ] as const)
    t.is((await send(`${platform.origin}/api/${version}/identity`, { headers })).status, status, version);
});

onEachDatabase(
  'two nodes together accept the limit, and one of them alone nearly all of it',
  async (t, _, address) => {
    const options: Options = { limits: { user: { requests: 100, window: '1 hour' } } };
    await using stack = new AsyncDisposableStack();
    const nodes: Node[] = [];
    for (let count = 0; count < 2; count += 1) {
      const storage = knexStorage(address);
      nodes.push(stack.use(await startNode(options, storage)));
      stack.defer(async () => storage.close());
    }
    const accepted = async (token: string, places: readonly Node[]): Promise<number> => {
      let sum = 0;
      // Forty at a time, on each node half of them.
      for (let round = 0; round < 6; round += 1) {
        const answers = await Promise.all(
          Array.from({ length: 40 }, async (__, index) => places[index % places.length]!.schools(token)),
        );
        t.true(answers.every(([status]) => status === 200 || status === 429));
        sum += answers.filter(([status]) => status === 200).length;
      }
      return sum;
    };
    const [ann, cleo] = [await nodes[0]!.tokenOf('1'), await nodes[0]!.tokenOf(CLEO)];
    t.is(await accepted(ann, nodes), 100, 'on both');
    t.deepEqual(await nodes[0]!.schools(cleo), [200]);
    const alone = await accepted(cleo, [nodes[1]!]);
    t.true(alone >= 90 && alone <= 99, `alone: ${alone}`);
    const writes = nodes.flatMap(({ counted }) => counted).length;
    t.true(writes <= 60, `${writes} writes for 481 requests`);
  },
);

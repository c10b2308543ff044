import test from '../harness/test.ts';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { issueToken } from 'koa-gatehouse/testing';
import { z } from 'zod';

import type { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { gate, signedIn, signOut, startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { postSlowly } from '../harness/slow-request.ts';
import { breakable } from '../harness/storage.ts';
import { altered } from '../harness/tokens.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';

/** What a browser says of the requests that a page of the API's own origin makes. */
const ownPage = (origin: string): Record<string, string> => ({ 'sec-fetch-site': 'same-origin', origin });

/** An API of another origin than the issuer. */
const AGENTS = 'https://agents.example/mcp';

interface Init extends RequestInit {
  readonly headers?: Record<string, string>;
}

interface Schools extends AsyncDisposable {
  readonly platform: Platform;
  /** The names that the action was run with. */
  readonly renamed: string[];
  /** Sends a request of a page of the own origin, unless other headers say otherwise. */
  readonly send: (path: string, cookie: string, init?: Init) => Promise<Answer>;
  /** Runs the action. */
  readonly rename: (name: string, headers: Record<string, string>) => Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** A platform whose API accepts sessions. With `login`, the host's own session is the cookie `host=<id of the user>`. */
async function start({
  api: given,
  options,
}: {
  api?: Partial<Parameters<typeof createApiRouter<'view_schools' | 'edit_schools', Person>>[0]>;
  options?: Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', Person>>;
} = {}): Promise<Schools> {
  const renamed: string[] = [];
  const rename = defineAction({
    gate,
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename',
    permission: 'edit_schools',
    mcp: true,
    input: z.object({ name: z.string() }),
    output: z.object({ by: z.string(), credential: z.string() }),
    run({ input, principal }) {
      renamed.push(input.name);
      return { by: principal.user?.id ?? '', credential: principal.credential };
    },
  });
  const resources = { [AGENTS]: { name: 'Agents' } };
  const platform = await startPlatform(
    { resources, ...options },
    {
      api: { actions: [rename], session: true, ...given },
      async behind({ auth }) {
        const guards = {
          '/guarded': auth.guard({ session: true }),
          '/guarded-agents': auth.guard({ resource: AGENTS, session: true }),
          '/tokens': auth.guard(),
        };
        return [
          await createMcpEndpoint({ auth, actions: [rename], resource: AGENTS }),
          (ctx, next) => {
            const guard = guards[ctx.path as keyof typeof guards];
            return guard ? guard(ctx, next) : next();
          },
          (ctx) => {
            const { client, principal, user } = ctx.state;
            ctx.body = {
              ...principal,
              user: user.id,
              state: client,
              permissions: [...principal.permissions],
            };
          },
        ];
      },
    },
  );

  async function request(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(new URL(path, platform.origin), init);
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, code: body['code'], headers: response.headers, body };
  }

  return {
    [Symbol.asyncDispose]: async () => platform[Symbol.asyncDispose](),
    platform,
    renamed,
    send: (path, cookie, init = {}) =>
      request(path, {
        ...init,
        headers: { ...ownPage(platform.auth.issuer), ...(cookie && { cookie }), ...init.headers },
      }),
    rename: (name, headers) =>
      request('/api/v1/actions/school/1/rename-school-action', {
        method: 'POST',
        body: JSON.stringify({ name }),
        headers: { 'content-type': 'application/json', ...headers },
      }),
  };
}

/** The host's session is a cookie with the id of its user. */
const hostLogin: NonNullable<AuthServerOptions<never, never, Person>['login']> = {
  currentUser(ctx) {
    const id = ctx.cookies.get('host');
    return id === undefined ? undefined : ({ id } as Person);
  },
};

const started = shared(async (stack) => {
  const plain = stack.use(await start());
  const hosted = stack.use(await start({ options: { login: hostLogin } }));
  return { plain, hosted };
});

async function cleoAt(platform: Platform): Promise<Browser> {
  return signedIn(platform, 'cleo@school.example', 'open sesame');
}

test('the first request after the login is the user, with all permissions and without a client', async (t) => {
  const { plain } = await started();
  const { platform, rename, send } = plain;
  const cookie = (await cleoAt(platform)).cookieField;
  const { status, body, headers } = await send('/api/v1/identity', cookie);
  t.is(status, 200);
  like(t, body['data'], {
    type: 'user',
    id: '3',
    name: 'Cleo',
    roles: ['registrar'],
    permissions: ['edit_schools', 'view_schools'],
    withheld_permissions: [],
    scopes: [],
    client_id: null,
  });
  t.false([...headers.keys()].some((name) => name.startsWith('access-control-')));

  const renamed = await rename('Hill', { cookie, ...ownPage(platform.origin) });
  t.is(renamed.status, 200);
  t.deepEqual(renamed.body['data'], { by: '3', credential: 'session' });
});

test('the user of the host’s own login is accepted too, as the user store has it', async (t) => {
  const { hosted } = await started();
  const { platform, rename, send } = hosted;
  const { status, body, headers } = await send('/guarded', 'host=1');
  t.is(status, 200);
  like(t, body, {
    user: '1',
    type: 'user',
    credential: 'session',
    permissions: ['view_schools'],
  });
  t.is(body['client'], undefined);
  t.is(body['state'], undefined);
  t.is(headers.get('cache-control'), 'no-store');
  t.is(headers.get('vary'), 'Authorization, Cookie');

  const refused = await rename('Hill', { cookie: 'host=1', ...ownPage(platform.origin) });
  t.is(refused.status, 403);
  t.is(refused.body['detail'], 'Missing permission to edit schools.');
  t.is(refused.code, 'missing_permission');

  const gone = await send('/guarded', 'host=9');
  t.is(gone.status, 401);
  t.is(gone.code, 'session_user_gone');
  t.is(gone.body['detail'], 'The user who is logged in was removed or disabled.');
});

test('requests that no page of the own origin has made: 403, and nothing runs', async (t) => {
  const { plain } = await started();
  const { platform, rename, renamed, send } = plain;
  const cookie = (await cleoAt(platform)).cookieField;
  const { origin } = platform;
  const sibling = 'https://blog.school.example';
  const evil = 'https://evil.example';
  const crossSite = { 'sec-fetch-site': 'cross-site' };
  const form = { 'sec-fetch-mode': 'navigate', 'content-type': 'application/x-www-form-urlencoded' };
  const noCors = { 'sec-fetch-mode': 'no-cors', 'content-type': 'text/plain' };
  const attacks: [attack: string, headers: Record<string, string>, code?: string][] = [
    ['a form of another site', { ...crossSite, ...form, origin: evil }],
    ['a script of another origin', { ...crossSite, origin: evil }],
    ['a script of a sibling subdomain', { 'sec-fetch-site': 'same-site', origin: sibling }],
    ['no-cors', { ...crossSite, ...noCors, origin: sibling }],
    ['a sandboxed frame', { ...crossSite, origin: 'null' }],
    ['another port', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }],
    ['an Origin that contradicts', { 'sec-fetch-site': 'same-origin', origin: evil }],
    ['the address bar', { 'sec-fetch-site': 'none', origin }],
    ['a repeated field', { 'sec-fetch-site': 'same-origin, same-origin', origin }],
    ['an old browser of another site', { origin: evil }],
    ['an old browser, from the own page', { origin }, 'origin_unknown'],
    ['no field at all', {}, 'origin_unknown'],
    ['no Origin with a POST', { 'sec-fetch-site': 'same-origin' }, 'origin_unknown'],
  ];
  for (const [attack, headers, code = 'origin_not_allowed'] of attacks) {
    const posted = await rename('Evil', { ...headers, cookie });
    t.like(posted, { status: 403, code }, attack);
    t.is(posted.headers.get('cache-control'), 'no-store');
    t.is(posted.headers.get('access-control-allow-origin'), null);
  }
  t.false(renamed.includes('Evil'));

  for (const site of ['cross-site', 'same-site', 'none']) {
    const { code, status, body } = await send('/guarded', cookie, { headers: { 'sec-fetch-site': site } });
    t.deepEqual([status, code], [403, 'origin_not_allowed'], site);
    t.is(body['detail'], `Without an access token, only pages of ${origin} may send requests here.`);
  }
  const read = await fetch(`${origin}/guarded`, { headers: { cookie } });
  t.is(read.status, 403, 'a GET says it too');
  t.is(((await read.json()) as { code: string }).code, 'origin_unknown');
  const fetched = await fetch(`${origin}/guarded`, { headers: { cookie, 'sec-fetch-site': 'same-origin' } });
  t.is(fetched.status, 200, 'browsers send no Origin with a GET');
});

test('the pages of an API of another origin are those of its own origin', async (t) => {
  const { hosted } = await started();
  const { platform, send } = hosted;
  const own = await send('/guarded-agents', 'host=1', { headers: { origin: 'https://agents.example' } });
  t.is(own.status, 200);
  const other = await send('/guarded-agents', 'host=1', { headers: { origin: platform.origin } });
  t.like(other, { status: 403, code: 'origin_not_allowed' });
});

test('without a cookie, a program gets the challenge, wherever it comes from', async (t) => {
  const { plain } = await started();
  const { rename } = plain;
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }]) {
    const { code, headers: received, status } = await rename('Hill', headers);
    t.is(status, 401);
    t.is(code, 'login_required');
    t.regex(received.get('www-authenticate') ?? '', /^Bearer realm="[^"]+", scope=/);
  }
});

test('a planted cookie is nobody', async (t) => {
  const { plain } = await started();
  const { platform, send } = plain;
  const browser = await cleoAt(platform);
  const cookie = browser.cookieField;
  const { name, value } = browser.cookies.find((one) => one.name.includes('session'))!;
  const planted = [
    `${name}=x; ${name}.sig=x`,
    cookie.replace(value, altered(value)),
    `${name}=; ${name}.sig=`,
    'unrelated=1',
  ];
  for (const field of planted) {
    const { code, status, body } = await send('/guarded', field);
    t.deepEqual([status, code], [401, 'login_required'], field);
    t.regex(String(body['detail']), /^Log in to this site/);
  }
});

test('a token beside a session wins, and a wrong one does not fall back to the session', async (t) => {
  const { plain } = await started();
  const { platform, send } = plain;
  const cookie = (await cleoAt(platform)).cookieField;
  const { client } = await platform.registerApp({ scopes: ['schools:read'] });
  const token = await issueToken(platform.auth, { client, user: { id: '1' }, scopes: ['schools:read'] });
  const { body } = await send('/guarded', cookie, { headers: { authorization: `Bearer ${token}` } });
  like(t, body, {
    user: '1',
    credential: 'access_token',
    scopes: ['schools:read'],
    permissions: ['view_schools'],
  });

  const wrong: Record<string, string> = {
    Bearer: 'token_malformed',
    'Bearer x': 'token_malformed',
    [`Bearer ${token.slice(0, -4)}AAAA`]: 'token_invalid',
    'Basic YW5uOnNlY3JldA==': 'token_missing',
    'DPoP x': 'token_missing',
    '': 'token_missing',
  };
  for (const [authorization, expected] of Object.entries(wrong)) {
    const answer = await send('/guarded', cookie, { headers: { authorization } });
    t.like(answer, { status: 401, code: expected }, authorization);
  }
  const inUrl = await send(`/guarded?access_token=${token}`, cookie);
  t.like(inUrl, { status: 401, code: 'token_misplaced' });

  // From another origin, a token needs no cookie and no page.
  const other = {
    origin: 'https://app.example',
    'sec-fetch-site': 'cross-site',
    authorization: `Bearer ${token}`,
  };
  t.is((await send('/guarded', cookie, { headers: other })).status, 200);
});

test('off unless it is set, and never at the endpoint for agents', async (t) => {
  const { plain } = await started();
  const { platform, send } = plain;
  const cookie = (await cleoAt(platform)).cookieField;
  t.like(await send('/tokens', cookie), { status: 401, code: 'token_missing' });
  const called = await send('/mcp', cookie, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      origin: new URL(AGENTS).origin,
    },
  });
  t.like(called, { status: 401, code: 'token_missing' });
});

test('a session that has ended, or whose user has, stops at once, on another node too', async (t) => {
  const storage = memoryStorage();
  await using first = await start({ options: { storage } });
  await using second = await start({ options: { storage, issuer: first.platform.origin } });
  const nodes = [first, second];

  async function statuses(cookie: string): Promise<unknown[]> {
    return Promise.all(nodes.map(async ({ send }) => (await send('/guarded', cookie)).code ?? 'ok'));
  }

  const browser = await cleoAt(first.platform);
  const cookie = browser.cookieField;
  t.deepEqual(await statuses(cookie), ['ok', 'ok']);
  await signOut(first.platform, browser);
  t.deepEqual(await statuses(cookie), ['login_required', 'login_required']);

  const again = await cleoAt(first.platform);
  await first.platform.auth.revoke({ userId: '3' });
  t.deepEqual(await statuses(again.cookieField), ['login_required', 'login_required']);

  const ann = await signedIn(first.platform);
  const { users } = second.platform;
  users.all[0] = { ...users.all[0]!, permissions: [] };
  t.deepEqual((await second.send('/guarded', ann.cookieField)).body['permissions'], [], 'permissions of now');
  users.all.shift();
  t.is((await second.send('/guarded', ann.cookieField)).code, 'session_user_gone');
  t.deepEqual(await statuses(ann.cookieField), ['login_required', 'login_required'], 'the session was ended');
});

test('a key of a session is not that of the user’s apps', async (t) => {
  const { plain } = await started();
  const { platform, rename, renamed } = plain;
  const cookie = (await cleoAt(platform)).cookieField;
  const { client } = await platform.registerApp();
  const token = await issueToken(platform.auth, { client, user: { id: '3' } });
  const key = { 'idempotency-key': 'one' };
  const bySession = { cookie, ...ownPage(platform.origin), ...key };
  t.like((await rename('Dale', bySession)).body['data'], { credential: 'session' });
  const byApp = await rename('Dale', { authorization: `Bearer ${token}`, ...key });
  t.like(byApp.body['data'], { credential: 'access_token' });
  const repeated = await rename('Dale', bySession);
  t.is(repeated.status, 200);
  t.like(repeated.body['data'], { credential: 'session' });
  t.is(renamed.filter((name) => name === 'Dale').length, 2);
});

test('a user’s limit counts sessions and apps together; a client’s counts no session', async (t) => {
  const limits = {
    user: { requests: 3, window: '1 hour' },
    client: { requests: 1, window: '1 hour' },
  } as const;
  await using schools = await start({ api: { limits } });
  const { platform, send } = schools;
  const cookie = (await cleoAt(platform)).cookieField;
  const { client } = await platform.registerApp();
  const token = await issueToken(platform.auth, { client, user: { id: '3' } });
  const statuses = [];
  for (const headers of [{}, { authorization: `Bearer ${token}` }, {}, {}]) {
    statuses.push((await send('/api/v1/identity', cookie, { headers })).status);
  }
  t.deepEqual(statuses, [200, 200, 200, 429]);
});

const UNAVAILABLE = { status: 503, code: 'temporarily_unavailable' };

test('without its database, the server answers 503 and not that nobody is logged in', async (t) => {
  const { broken, storage } = breakable();
  await using schools = await start({ options: { storage } });
  const { platform, send } = schools;
  const cookie = (await cleoAt(platform)).cookieField;
  broken.add('sessions.find');
  t.like(await send('/guarded', cookie), UNAVAILABLE);
  broken.clear();
  t.is((await send('/guarded', cookie)).status, 200);
});

test('a server that is being closed answers 503 to sessions too', async (t) => {
  await using schools = await start();
  const { platform, send } = schools;
  const cookie = (await cleoAt(platform)).cookieField;
  await platform.auth.close();
  t.like(await send('/guarded', cookie), UNAVAILABLE);
});

test.serial(
  'a request whose session ends before its body has arrived is refused, within `revocationLag`',
  async (t) => {
    await using schools = await start();
    const { platform, renamed } = schools;
    const url = `${platform.origin}/api/v1/actions/school/1/rename-school-action`;

    async function renameSlowly(cookie: string, meanwhile: () => unknown): Promise<[unknown, unknown]> {
      let admitted = false;
      const stop = platform.auth.observe({ guarded: (outcome) => (admitted ||= outcome.admitted) });
      const finish = postSlowly(url, { name: 'Hill' }, { cookie, ...ownPage(platform.origin) });
      await until(() => admitted);
      stop();
      await meanwhile();
      passTime(5);
      const { body, status } = await finish();
      return [status, body['code']];
    }

    const browser = await cleoAt(platform);
    const cookie = browser.cookieField;
    t.deepEqual(await renameSlowly(cookie, () => {}), [200, undefined], 'a session that goes on');
    t.deepEqual(await renameSlowly(cookie, async () => signOut(platform, browser)), [401, 'login_required']);

    const again = (await cleoAt(platform)).cookieField;
    const cleo = platform.users.all[2]!;
    t.deepEqual(await renameSlowly(again, () => (platform.users.all[2] = { ...cleo, roles: [] })), [
      403,
      'missing_permission',
    ]);
    platform.users.all[2] = cleo;
    t.deepEqual(await renameSlowly(again, () => platform.users.all.pop()), [401, 'session_user_gone']);
    t.deepEqual(renamed, ['Hill']);
  },
);

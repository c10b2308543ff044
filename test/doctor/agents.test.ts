import test from '../harness/test.ts';
import type { Middleware } from 'koa';
import { agents, createAdministration } from 'koa-gatehouse';
import type { Finding } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startProxy } from '../embedding/proxy.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';

type Options = NonNullable<Parameters<typeof startPlatform>[0]>;

/** Starts a platform with an endpoint for agents behind a proxy. */
async function start(
  path: string,
  rewrite: (path: string) => string | undefined,
  { features, front }: { features?: Options['features']; front?: Middleware } = {},
): Promise<Platform & { check(): Promise<readonly Finding[]> }> {
  const proxy = await startProxy((asked, headers) => {
    const passed = rewrite(asked);
    return passed === undefined ? undefined : { path: passed, headers };
  });
  const api = `${proxy.origin}${path}/mcp`;
  const platform = await startPlatform(
    {
      resources: {
        [api]: {
          name: 'Schools for agents',
          scopes: { read: { description: 'See schools', permissions: ['view_schools'] } },
        },
      },
      features: features ?? [agents()],
    },
    {
      path,
      inFront(origin) {
        proxy.forwardTo(origin);
        return proxy.origin;
      },
      before: front ? [front] : [],
      behind({ auth }) {
        const guard = auth.guard({ resource: api }) as unknown as Middleware;
        return [async (ctx, next) => (ctx.path === `${path}/mcp` ? guard(ctx, next) : undefined)];
      },
    },
  );
  return {
    ...platform,
    async check() {
      const found = await createAdministration({ storage: memoryStorage() }).doctor({
        issuer: platform.auth.issuer,
      });
      return found.filter(({ code }) => code.startsWith('agents_'));
    },
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

test('all agents find a server with a path and without', async (t) => {
  for (const path of ['', '/auth']) {
    await using platform = await start(path, (asked) => asked);
    t.deepEqual(await platform.check(), [], path);
  }
});

test('a proxy that passes the path of the issuer alone loses all agents', async (t) => {
  await using platform = await start('/auth', (asked) => (asked.startsWith('/auth/') ? asked : undefined));
  const { origin } = platform;
  const [api, root] = ['/auth/mcp', ''].map(
    (path) => `${origin}/.well-known/oauth-protected-resource${path} (the response was 404)`,
  );
  const cannot = `cannot connect to ${origin}/auth/mcp: no metadata is at`;
  t.deepEqual(
    await platform.check(),
    [
      { asked: ['Claude'], urls: [api] },
      { asked: ['ChatGPT'], urls: [root, api] },
      { asked: ['VS Code and Cursor'], urls: [api, root] },
    ].map(({ asked, urls }) => ({
      code: 'agents_lost',
      severity: 'warning',
      message: `${asked[0]} ${cannot} ${urls.join(', ')}.`,
      remedy: 'Let the proxy pass these paths on to the server, and answer with 404 what is nowhere.',
    })),
  );
});

test('a proxy that leaves out the path of RFC 8414 loses all agents, as OpenID Connect is off', async (t) => {
  await using platform = await start('/auth', (asked) =>
    asked.startsWith('/.well-known/oauth-authorization-server') ? undefined : asked,
  );
  const { origin } = platform;
  t.deepEqual(
    (await platform.check()).map(({ message }) => message),
    [
      `Claude, ChatGPT, VS Code, and Cursor cannot connect to ${origin}/auth/mcp: no metadata is at ${[
        '/.well-known/oauth-authorization-server/auth',
        '/.well-known/openid-configuration/auth',
        '/auth/.well-known/openid-configuration',
      ]
        .map((path) => `${origin}${path} (the response was 404)`)
        .join(', ')}.`,
    ],
  );
});

test('a page at the path of the metadata stops the agents that use the SDK of the protocol', async (t) => {
  await using platform = await start('', (asked) => asked, {
    front: async (ctx, next) => {
      if (ctx.path === '/.well-known/oauth-protected-resource/mcp') ctx.body = '<h1>Welcome</h1>';
      else await next();
    },
  });
  const { origin } = platform;
  t.deepEqual(
    (await platform.check()).map(({ message }) => message),
    [
      `Claude and Cursor cannot connect to ${origin}/mcp: no metadata is at ${origin}/.well-known/oauth-protected-resource/mcp (the response was 200).`,
    ],
  );
});

test('an endpoint at a server that admits no agents is reported, with the line to add', async (t) => {
  await using platform = await start('', (asked) => asked, { features: [] });
  t.deepEqual(await platform.check(), [
    {
      code: 'agents_unknown',
      severity: 'warning',
      message: `The endpoint ${platform.origin}/mcp is for agents, but the server admits none: they can neither register themselves nor publish a document.`,
      remedy: 'Pass features: [agents()] to createAuthServer().',
    },
  ]);
});

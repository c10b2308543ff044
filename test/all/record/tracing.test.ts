import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import test from '../../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Middleware } from 'koa';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';

import { Browser } from '../../harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../../harness/platform.ts';
import type { Mounting } from '../../harness/platform.ts';
import { postForm, send } from '../../harness/requests.ts';
import { around, breakable } from '../../harness/storage.ts';
import { asClient, clientToken, requestClientToken } from '../../harness/tokens.ts';
import { callTool, startAgentServer, toolOf } from '../../mcp/agents.ts';
import { startSdk } from '../../record/spans.ts';

const spans = startSdk();
const tracer = trace.getTracer('the host');

// The tests share the spans of one process.
const { serial } = test;

/** An app whose requests are spans, as with HTTP instrumentation, with other middleware behind the platform. */
function instrumented(more: Extract<Mounting['behind'], Function> = () => []): Mounting {
  return {
    before: [
      async (ctx, next) => {
        await tracer.startActiveSpan(ctx.method, { kind: SpanKind.SERVER }, async (span) => {
          await next();
          span.end();
        });
      },
    ],
    behind: async (parts) => [
      ...(await more(parts)),
      (ctx) => {
        ctx.body = trace.getSpan(context.active())?.spanContext().spanId;
      },
    ],
  };
}

const startInside: Middleware = (ctx) => {
  tracer.startSpan('inside').end();
  ctx.status = 204;
};

/** A storage whose calls are spans, as with database instrumentation. */
function tracedStorage() {
  return around(memoryStorage(), async (name, call) =>
    tracer.startActiveSpan(name, async (span) => {
      try {
        return await call();
      } finally {
        span.end();
      }
    }),
  );
}

/** The names of the server's spans that end while `act` runs. */
async function namesOf(act: () => Promise<unknown>): Promise<string[]> {
  return (await spans.during(act)).map(({ name }) => name).filter((name) => name.startsWith('gatehouse.'));
}

const named = (all: readonly ReadableSpan[], name: string): ReadableSpan | undefined =>
  all.find((span) => span.name === name);

serial("a token request is a span within the host's, and its queries are spans within it", async (t) => {
  await using platform = await startPlatform({ storage: tracedStorage() }, instrumented());
  const service = await platform.registerService();
  let id: string | null = null;
  const made = await spans.during(async () => {
    const { headers } = await requestClientToken(platform, service);
    id = headers.get('x-request-id');
  });
  const [server, token, query] = ['POST', 'gatehouse.token', 'clients.find'].map((name) => named(made, name));
  t.is(token?.kind, SpanKind.INTERNAL);
  t.is(token?.parentSpanContext?.spanId, server?.spanContext().spanId);
  t.is(query?.parentSpanContext?.spanId, token?.spanContext().spanId);
  t.is(token?.instrumentationScope.name, 'koa-gatehouse');
  t.is(token?.status.code, SpanStatusCode.UNSET);
  t.deepEqual(token?.attributes, {
    'http.response.status_code': 200,
    'oauth.client_id': service.client.id,
    'oauth.grant_type': 'client_credentials',
    'gatehouse.request_id': id!,
  });
});

serial("the host's span of a request gets the route of the endpoint", async (t) => {
  await using platform = await startPlatform({}, { ...instrumented(), path: '/auth' });
  const service = await platform.registerService();
  const requests: [route: string, () => Promise<unknown>][] = [
    ['/auth/oauth/token', async () => requestClientToken(platform, service)],
    ['/auth/oauth/token', async () => postForm(platform.url('/OAuth/Token/'), asClient(service))],
    ['/auth/oauth/authorize', async () => send(platform.url('/oauth/authorize/PLANTED'))],
    [
      '/auth/oauth/revoke',
      async () => postForm(platform.url('/oauth/revoke'), { ...asClient(service), token: 'x' }),
    ],
  ];
  for (const [route, request] of requests) {
    const host = (await spans.during(request)).find(({ kind }) => kind === SpanKind.SERVER);
    t.is(host?.attributes['http.route'], route);
  }
});

serial(
  "the host's span of each request to an endpoint for agents has its path, also of one that is refused",
  async (t) => {
    let mcp = '';
    await using platform = await startPlatform(
      {
        get resources() {
          return { [mcp]: { name: 'Schools for agents' } };
        },
      },
      {
        inFront: (origin) => {
          mcp = `${origin}/mcp`;
          return origin;
        },
        ...instrumented(async ({ auth }) => {
          const { actions } = toolOf(() => ({}));
          return [await createMcpEndpoint({ auth, actions: actions as never })];
        }),
      },
    );
    for (const method of ['GET', 'POST', 'DELETE']) {
      const made = await spans.during(async () => send(platform.url('/mcp?PLANTED'), { method }));
      t.is(named(made, method)?.attributes['http.route'], '/mcp', method);
      t.truthy(named(made, 'gatehouse.mcp'), method);
    }
  },
);

serial('a tool call is a span with the name of the tool, and what the tool does is within it', async (t) => {
  const schools = toolOf(() => {
    tracer.startSpan('inside').end();
    return {};
  });
  const server = await startAgentServer(t, { schools });
  const token = await server.token();
  const made = await spans.during(async () => callTool(server, token, 'school_try', { input: {} }));
  const [tool, inside] = ['gatehouse.tool', 'inside'].map((name) => named(made, name));
  t.deepEqual(tool?.attributes, { 'gen_ai.tool.name': 'school_try', 'oauth.client_id': server.clientId });
  t.is(inside?.parentSpanContext?.spanId, tool?.spanContext().spanId);
});

serial(
  "a refused request is a span with its error code, a failed one with error status and the error's type, without its message",
  async (t) => {
    const { broken, storage } = breakable(memoryStorage(), new RangeError('password=hunter2'));
    await using platform = await startPlatform({ storage }, instrumented());
    const service = await platform.registerService();
    const spanOf = async (client_id: string): Promise<ReadableSpan | undefined> => {
      const parameters = { grant_type: 'client_credentials', client_id, client_secret: 'wrong' };
      return named(await spans.during(async () => platform.token(parameters)), 'gatehouse.token');
    };
    const refused = await spanOf(service.client.id);
    t.is(refused?.status.code, SpanStatusCode.UNSET);
    t.like(refused?.attributes, { 'http.response.status_code': 401, 'error.type': 'invalid_client' });

    const accessToken = await clientToken(platform, service);
    broken.add('clients.find').add('revocations.isValid');
    const made = await spans.during(async () => platform.api('/identity', accessToken));
    t.like(named(made, 'gatehouse.guard'), {
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'RangeError' },
    });
    const failed = await spanOf('x');
    t.deepEqual(failed?.status, { code: SpanStatusCode.ERROR });
    t.deepEqual(failed?.events, []);
    t.like(failed?.attributes, { 'http.response.status_code': 500, 'error.type': 'RangeError' });

    broken.clear();
    platform.users.verifyPassword = async () => {
      throw new RangeError('password=hunter2');
    };
    const browser = new Browser();
    const login = await browser.open(authorizeUrl(platform, await platform.registerApp()));
    const page = named(await spans.during(async () => signIn(browser, login)), 'gatehouse.page');
    t.deepEqual(page?.status, { code: SpanStatusCode.ERROR });
    t.like(page?.attributes, { 'error.type': 'RangeError' });
  },
);

serial('the guard makes a span for an uncached token, and none for a cached one', async (t) => {
  await using platform = await startPlatform({ storage: tracedStorage() }, instrumented());
  const service = await platform.registerService();
  const accessToken = await clientToken(platform, service);
  const cold = await spans.during(async () => platform.api('/identity', accessToken));
  const guard = named(cold, 'gatehouse.guard');
  t.is(guard?.parentSpanContext?.spanId, named(cold, 'GET')?.spanContext().spanId);
  t.is(named(cold, 'revocations.isValid')?.parentSpanContext?.spanId, guard?.spanContext().spanId);
  t.deepEqual(guard?.attributes, { 'oauth.client_id': service.client.id });
  const warm = await spans.during(async () => platform.api('/identity', accessToken));
  t.deepEqual(
    warm.map(({ name }) => name),
    ['GET'],
  );
  const wrong = await spans.during(async () => platform.api('/identity', `${accessToken}x`));
  t.deepEqual(named(wrong, 'gatehouse.guard')?.attributes, { 'error.type': 'token_malformed' });
});

serial('a handler behind the guard runs within the span of the host', async (t) => {
  await using platform = await startPlatform(
    {},
    instrumented(({ auth }) => [auth.guard(), startInside]),
  );
  const authorization = `Bearer ${await clientToken(platform, await platform.registerService())}`;
  const made = await spans.during(async () => send(platform.origin, { headers: { authorization } }));
  t.truthy(named(made, 'gatehouse.guard'));
  t.is(named(made, 'inside')?.parentSpanContext?.spanId, named(made, 'GET')?.spanContext().spanId);
});

serial('pages and other endpoints are spans; keys, metadata and routes of the host are not', async (t) => {
  await using platform = await startPlatform({}, instrumented());
  const app = await platform.registerApp();
  const browser = new Browser();
  t.deepEqual(await namesOf(async () => browser.open(authorizeUrl(platform, app))), [
    'gatehouse.authorization',
    'gatehouse.page',
  ]);
  const post = (path: string) => async () => postForm(platform.url(path), { ...asClient(app), token: 'x' });
  t.deepEqual(await namesOf(post('/oauth/introspect')), ['gatehouse.introspection']);
  t.deepEqual(await namesOf(post('/oauth/revoke')), ['gatehouse.revocation']);
  for (const path of ['/oauth/jwks', '/.well-known/oauth-authorization-server', '/oauth/custom', '/']) {
    t.deepEqual(await namesOf(async () => send(platform.url(path))), [], path);
  }
});

/** The output of a script in its own process. */
async function written(script: string): Promise<string> {
  const given = ['--conditions=gatehouse:source', join(import.meta.dirname, '../../record', script)];
  return (await promisify(execFile)(process.execPath, given)).stdout;
}

test('the server works without @opentelemetry/api', async (t) => {
  t.is(await written('without-opentelemetry.ts'), 'hidden, 200\n');
});

test('OpenTelemetry is loaded when the host registers an SDK, also after the start', async (t) => {
  t.is(await written('late-sdk.ts'), '0 files, gatehouse.token\n');
});

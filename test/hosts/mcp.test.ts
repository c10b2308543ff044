import type { RequestListener } from 'node:http';

import test from '../harness/test.ts';
import { requireBearerAuth } from '@modelcontextprotocol/express';
import express from 'express';
import fastify from 'fastify';
import { createMcpEndpoint, createTokenVerifier } from 'koa-gatehouse/mcp';
import { personalTokens } from 'koa-gatehouse';

import { startPlatform } from '../harness/platform.ts';
import type { AppParts } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';
import { callTool, connect, message, post, startAgentServer } from '../mcp/agents.ts';
import type { AgentApp } from '../mcp/agents.ts';

const APPS: Readonly<Record<string, AgentApp>> = {
  async Express({ auth, actions }) {
    const app = express();
    app.use(express.json());
    app.use(auth.callback(await createMcpEndpoint({ auth, actions })));
    return app;
  },
  async Fastify({ auth, actions }) {
    const app = fastify();
    const handle = auth.callback(await createMcpEndpoint({ auth, actions }));
    app.addHook('onRequest', (request, reply, done) =>
      handle(request.raw, reply.raw, (error) => done(error as Error | undefined)),
    );
    await app.ready();
    return (request, response) => app.routing(request, response);
  },
};

for (const [name, app] of Object.entries(APPS)) {
  test(`${name}: an agent finds its way, lists the tools and calls one`, async (t) => {
    const server = await startAgentServer(t, { app });
    const refused = await post(server, undefined, message('tools/list'));
    t.is(refused.status, 401);
    t.regex(
      refused.headers.get('www-authenticate') ?? '',
      /resource_metadata="[^"]+oauth-protected-resource\/mcp"/,
    );
    t.is((await send(`${server.origin}/.well-known/oauth-protected-resource/mcp`)).status, 200);
    const client = await connect(t, server, await server.token());
    t.true((await client.listTools()).tools.some((tool) => tool.name === 'create_school'));
    const made = await callTool(server, await server.token(), 'create_school', {
      input: { name: 'Bay School' },
    });
    t.is(made.status, 200);
    t.true([...server.schools.all.values()].includes('Bay School'));
  });
}

const personal = { features: [personalTokens()] };

function guardedBySdk({ auth }: AppParts): RequestListener {
  const app = express();
  app.use(auth.callback());
  app.get('/tools', requireBearerAuth({ verifier: createTokenVerifier({ auth }) }), (request, response) => {
    const { clientId, extra, resource, scopes, expiresAt } = request.auth!;
    const { user } = extra!['principal'] as { readonly user?: { readonly id: string } };
    response.json({ clientId, user: user?.id, resource, scopes, seconds: expiresAt! - Date.now() / 1000 });
  });
  return app;
}

async function tools(platform: { url(path: string): URL }, token: string): ReturnType<typeof send> {
  return send(platform.url('/tools'), { headers: { authorization: `Bearer ${token}` } });
}

test("the SDK's guard accepts what the server's own does, also a personal token", async (t) => {
  await using platform = await startPlatform(personal, { app: guardedBySdk });
  const service = await platform.registerService(['view_schools']);
  const token = await clientToken(platform, service);
  for (const time of ['new', 'known']) {
    const { status, text } = await tools(platform, token);
    t.is(status, 200, time);
    t.like(JSON.parse(text), { clientId: service.client.id, scopes: [], resource: `${platform.origin}/` });
    t.true(JSON.parse(text).seconds > 31_000_000);
  }
  const { id, value } = await platform.auth.personalTokens.create({
    userId: '1',
    name: 'Script',
    lifetime: '1 day',
    scopes: ['schools:read'],
  });
  const ofUser = await tools(platform, value);
  t.like(JSON.parse(ofUser.text), { clientId: id, user: '1' });

  await platform.auth.revoke({ token });
  const revoked = await tools(platform, token);
  t.is(revoked.status, 401);
  t.like(JSON.parse(revoked.text), { error: 'invalid_token' });
  t.is((await tools(platform, 'nonsense')).status, 401);
});

test("a failure of the storage is the SDK's server error, and in the log", async (t) => {
  let failure: Error | undefined;
  await using platform = await startPlatform({}, { app: guardedBySdk });
  const token = await clientToken(platform, await platform.registerService());
  const { users } = platform;
  t.is((await tools(platform, token)).status, 200);
  const app = await platform.registerApp();
  const ofUser = await platform.auth.issueToken({ clientId: app.client.id, userId: '1' });
  const find = users.find.bind(users);
  users.find = async (id) => {
    if (failure) throw failure;
    return find(id);
  };
  failure = Object.assign(new Error('the database is away'), { code: 'ECONNREFUSED' });
  const refused = await tools(platform, ofUser);
  t.is(refused.status, 500);
  t.like(JSON.parse(refused.text), { error: 'server_error' });
  t.false(refused.text.includes('away'));
  t.true(platform.logger.lines.some(({ message: line }) => line === 'access token not verified'));
  failure = undefined;
  t.is((await tools(platform, ofUser)).status, 200);
});

test('a resource that the server does not have is an error at start', async (t) => {
  await using platform = await startPlatform();
  t.throws(() => createTokenVerifier({ auth: platform.auth, resource: 'https://none.example' }), {
    code: 'ERR_CONFIG',
    message: /the server has no such API/,
  });
});

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';

import test from '../harness/test.ts';

import { makeProject, runLine, runQuickStart } from '../harness/quick-start.ts';
import { send } from '../harness/requests.ts';
import { endWith, listenOn } from '../harness/serve.ts';

const README = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
const SOURCES = ['--conditions=gatehouse:source'];

test('the quick start runs unchanged, and its client gets a token that the API accepts', async (t) => {
  const { client, origin } = await runQuickStart(t, makeProject(), SOURCES);
  t.regex(client.client_id, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  t.true(client.client_secret.startsWith('gatehouse_secret_'));
  t.like(await send(`${origin}/.well-known/oauth-authorization-server`), {
    status: 200,
    body: { issuer: origin },
  });

  const [askForToken = '', askApi = ''] = README.match(/^curl .*$/gm) ?? [];
  const token = JSON.parse(await runLine(askForToken, origin, client.client_id, client.client_secret));
  t.is(token.token_type, 'Bearer');
  const schools = JSON.parse(await runLine(askApi, origin, token.access_token));
  t.deepEqual(schools, { data: [{ id: 1, name: 'Hill School' }] });
  const headers = { authorization: `Bearer ${token.access_token}` };
  const identity = await send(`${origin}/api/v1/identity`, { headers });
  t.like(identity.body, { data: { type: 'client', client_id: client.client_id } });
  t.is((await send(`${origin}/api/v1/identity`)).status, 401);
});

test('the quick start reports a port in use before it creates a secret', async (t) => {
  const { port } = endWith(t, await listenOn(createServer(), { address: 'localhost' }));
  const error = await t.throwsAsync(runQuickStart(t, makeProject(), SOURCES, port), {
    message: /EADDRINUSE/,
  });
  t.notRegex(error.message, /client_secret|gatehouse_secret_/);
});

test('the README begins with what works in a checkout, and each of its commands is there once', (t) => {
  const commands = [
    'npm ci && npm start',
    'npm start -- --curl',
    'npm cit',
    'npm pack',
    'npm install ../koa-gatehouse/',
  ];
  const places = commands.map((command) => README.indexOf(command));
  t.true(places.every((place, index) => place > (places[index - 1] ?? 0)));
});

/** What the endpoint of pushed requests refuses (RFC 9126): a row is one wrong request, which is recorded and logged. */
import test from '../harness/test.ts';

import { postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { asClient } from '../harness/tokens.ts';
import { push, startPushPlatform } from './push.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPushPlatform());
  const app = await platform.registerApp();
  const service = { ...(await platform.registerService()), redirectUri: app.redirectUri };
  const request = { ...asClient(app), response_type: 'code', redirect_uri: app.redirectUri };
  return {
    platform,
    app,
    service,
    pushJson: async (more: object) => postJson(platform.url('/oauth/par'), { ...request, ...more }),
  };
});

type Given = Awaited<ReturnType<typeof started>>;
type Row = readonly [
  title: string,
  request: (given: Given) => Promise<Answer>,
  status: number,
  error: string,
  of?: 'service',
];

const pushing =
  (parameters: Record<string, string>): Row[1] =>
  async ({ app, platform }) =>
    push(platform, app, parameters);

const ROWS: readonly Row[] = [
  ['another redirect URI', pushing({ redirect_uri: 'https://evil.example/' }), 400, 'invalid_request'],
  ['an unknown scope', pushing({ scope: 'schools:delete' }), 400, 'invalid_scope'],
  ['response_type token', pushing({ response_type: 'token' }), 400, 'unsupported_response_type'],
  ['response_type code code', pushing({ response_type: 'code code' }), 400, 'unsupported_response_type'],
  [
    'a pushed request',
    pushing({ request_uri: 'urn:ietf:params:oauth:request_uri:x' }),
    400,
    'request_uri_not_supported',
  ],
  ['a request object', pushing({ request: 'a.b.c' }), 400, 'request_not_supported'],
  ['an unknown resource', pushing({ resource: 'https://other.example' }), 400, 'invalid_target'],
  ['a wrong secret', pushing({ client_secret: 'wrong' }), 401, 'invalid_client'],
  [
    'a long state',
    pushing({ state: Array.from({ length: 9000 }, () => Math.random().toString(36).at(-1)).join('') }),
    400,
    'invalid_request',
  ],
  [
    'a client-credentials client',
    async ({ platform, service }) => push(platform, service),
    400,
    'invalid_request',
    'service',
  ],
  ...[{ state: {} }, { scope: ['schools:read'] }, { claims: {} }, { redirect_uri: true }].map((more): Row => [
    `JSON ${JSON.stringify(more)}`,
    async ({ pushJson }) => pushJson(more),
    400,
    'invalid_request',
  ]),
];

for (const [title, request, status, error, of = 'app'] of ROWS) {
  test(`pushed requests: ${title}`, async (t) => {
    const given = await started();
    const { audit } = given.platform.auth;
    const count = async (): Promise<number> =>
      (await audit.list({ types: ['authorization_refused'] })).length;
    const before = await count();
    const answer = await request(given);
    t.like(answer, { status, body: { error } }, answer.text);
    // What is no request yet is of no client.
    if (title.startsWith('JSON')) return;
    t.is(await count(), before + 1);
    const [record] = await audit.list({ types: ['authorization_refused'] });
    t.like(record, { clientId: given[of].client.id });
    const { message } = given.platform.logger.lines.at(-1)!;
    t.is(message, 'pushed_authorization_request refused');
  });
}

test('pushed requests: GET', async (t) => {
  const { platform } = await started();
  t.is((await send(platform.url('/oauth/par'))).status, 405);
});

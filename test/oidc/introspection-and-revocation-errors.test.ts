/** What the endpoints of introspection and revocation refuse: a row is one wrong request, which changes nothing. */
import test from '../harness/test.ts';

import { startPlatform } from '../harness/platform.ts';
import { postForm, postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { asClient } from '../harness/tokens.ts';
import { familiesOf } from './families.ts';
import { UNAUTHENTICATED, WITHOUT_AUTHENTICATION } from './token-platform.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const app = await platform.registerApp({ firstParty: true });
  const { family, guard } = familiesOf(platform, app);
  const { access: token } = await family();
  const credentials = asClient(app);
  return {
    platform,
    guard,
    token,
    credentials,
    id: app.client.id,
    form: String(new URLSearchParams(credentials)),
  };
});

type Given = Awaited<ReturnType<typeof started>>;

const WITHOUT_TOKEN = [400, 'invalid_request', "missing required parameter 'token'"] as const;
const TWICE = [400, 'invalid_request', "'token' parameter must not be provided twice"] as const;
const NO_STRING = [400, 'invalid_request', 'The parameter token must be a string.'] as const;

const ROWS: readonly (readonly [
  title: string,
  request: (url: URL, given: Given) => Promise<Answer>,
  status: number,
  error: string,
  description: string,
])[] = [
  ['no client', async (url, { token }) => postForm(url, { token }), ...WITHOUT_AUTHENTICATION],
  [
    'a wrong secret',
    async (url, { credentials, token }) => postForm(url, { ...credentials, client_secret: 'x', token }),
    ...UNAUTHENTICATED,
  ],
  [
    'no secret for a confidential client',
    async (url, { id, token }) => postForm(url, { client_id: id, token }),
    ...UNAUTHENTICATED,
  ],
  [
    'the token as authentication',
    async (url, { token }) => postForm(url, { token }, { authorization: `Bearer ${token}` }),
    400,
    'invalid_request',
    'invalid authorization header value format',
  ],
  ['no token', async (url, { form }) => postForm(url, form), ...WITHOUT_TOKEN],
  ['two tokens', async (url, { form }) => postForm(url, `${form}&token=a&token=b`), ...TWICE],
  [
    'the same token twice',
    async (url, { form, token }) => postForm(url, `${form}&token=${token}&token=${token}`),
    ...TWICE,
  ],
  [
    'a list of tokens',
    async (url, { credentials, token }) => postJson(url, { ...credentials, token: [token] }),
    ...NO_STRING,
  ],
  [
    'an object as token',
    async (url, { credentials }) => postJson(url, { ...credentials, token: { x: 1 } }),
    ...NO_STRING,
  ],
];

for (const path of ['/oauth/introspect', '/oauth/revoke']) {
  for (const [title, request, status, error, error_description] of ROWS) {
    test(`${path}: ${title}`, async (t) => {
      const given = await started();
      const answer = await request(given.platform.url(path), given);
      t.deepEqual([answer.status, answer.body], [status, { error, error_description }]);
      t.is(await given.guard(given.token), 200);
    });
  }

  test(`${path}: GET`, async (t) => {
    const { guard, platform, token } = await started();
    t.is((await send(platform.url(`${path}?token=${token}`))).status, 405);
    t.is(await guard(token), 200);
  });
}

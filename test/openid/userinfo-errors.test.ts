/** What the UserInfo endpoint refuses: a row is one wrong request. */
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import type { JWK } from 'jose';

import test from '../harness/test.ts';

import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { clientToken } from '../harness/tokens.ts';
import { OPENID } from './options.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ openid: { ...OPENID, algorithm: 'RS256' } }));
  const app = await platform.registerApp();
  const tokensFor = async (scope: string) =>
    (await runCodeFlow(platform, app, { parameters: { scope } })).body;
  const tokens = await tokensFor('openid email');
  return {
    platform,
    tokens,
    ofApi: (await tokensFor('schools:read')).access_token,
    ofService: await clientToken(platform, await platform.registerService(['view_schools'])),
    claims: decodeJwt(tokens.access_token),
  };
});

type Given = Awaited<ReturnType<typeof started>>;

const HEADER = { alg: 'RS256', typ: 'at+jwt' };

/** Signs the claims of a good token with the published key as the secret of an HMAC. */
async function confused({ claims, platform }: Given): Promise<string> {
  const published = (await send(platform.url('/oauth/jwks'))).body!['keys'] as JWK[];
  const rsa = published.find(({ n }) => n !== undefined)!;
  return new SignJWT(claims)
    .setProtectedHeader({ ...HEADER, alg: 'HS256', kid: rsa.kid! })
    .sign(Buffer.from(JSON.stringify(rsa)));
}

const TOKENS: readonly (readonly [
  title: string,
  token: (given: Given) => string | Promise<string>,
  /** Its status at the API. */
  atApi: number,
])[] = [
  ['a token of the API', ({ ofApi }) => ofApi, 200],
  ['a token of a client', ({ ofService }) => ofService, 200],
  ['an ID token', ({ tokens }) => tokens.id_token!, 401],
  ['a refresh token', ({ tokens }) => tokens.refresh_token, 401],
  [
    'a token of another key',
    async ({ claims }) =>
      new SignJWT(claims).setProtectedHeader(HEADER).sign((await generateKeyPair('RS256')).privateKey),
    401,
  ],
  ['an HMAC', confused, 401],
  [
    'a token without a signature',
    ({ tokens }) =>
      `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${tokens.access_token.split('.')[1]}.`,
    401,
  ],
  ['no token at all', () => 'x', 401],
];

for (const [title, tokenOf, atApi] of TOKENS) {
  test(`userinfo: ${title}`, async (t) => {
    const given = await started();
    const token = await tokenOf(given);
    const headers = { authorization: `Bearer ${token}` };
    const answer = await send(given.platform.url('/oauth/userinfo'), { headers });
    t.like(answer, { status: 401, body: { error: 'invalid_token' } });
    t.regex(answer.headers.get('www-authenticate')!, /^Bearer realm=".*", error="invalid_token"/);
    t.is((await given.platform.api('/schools', token)).status, atApi);
  });
}

const REQUESTS: readonly (readonly [
  title: string,
  request: (url: URL, token: string) => Promise<Answer>,
  status: number,
  description?: string,
])[] = [
  [
    'no token',
    async (url) => send(url),
    401,
    'an access token is required: send it as Authorization: Bearer',
  ],
  ['a token in the URL', async (url, token) => send(`${url.href}?access_token=${token}`), 400],
  [
    'a token in the header and in the body',
    async (url, token) =>
      send(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: new URLSearchParams({ access_token: token }),
      }),
    400,
  ],
  ['DELETE', async (url) => send(url, { method: 'DELETE' }), 405],
];

for (const [title, request, status, error_description] of REQUESTS) {
  test(`userinfo: ${title}`, async (t) => {
    const { platform, tokens } = await started();
    const answer = await request(platform.url('/oauth/userinfo'), tokens.access_token);
    t.is(answer.status, status);
    if (error_description !== undefined) t.like(answer.body, { error_description });
  });
}

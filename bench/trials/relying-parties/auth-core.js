import { Auth } from '@auth/core';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, clientSecret, issuer } = settings;
const configuration = {
  trustHost: true,
  secret: 'a secret',
  basePath: '/auth',
  providers: [{ id: 'gatehouse', name: 'Gatehouse', type: 'oidc', issuer, clientId, clientSecret }],
  callbacks: {
    jwt: ({ account, profile, token }) => (account ? { ...token, profile } : token),
    session: ({ session, token }) => ({ ...session, profile: token.profile }),
  },
};

async function answer(path, { cookie = '', ...given } = {}) {
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
  return Auth(new Request(new URL(path, origin), { headers, ...given }), configuration);
}

function handOn(from, response) {
  response.status(from.status);
  for (const line of from.headers.getSetCookie()) response.append('set-cookie', line);
  const location = from.headers.get('location');
  if (location !== null) response.set('location', location);
}

const app = createApp();
// As the button of its page does.
app.get('/login', async (request, response) => {
  const csrf = await answer('/auth/csrf', request.headers);
  const { csrfToken } = await csrf.json();
  const cookies = csrf.headers.getSetCookie();
  const sent = request.headers.cookie ?? '';
  const cookie = [sent, ...cookies.map((line) => line.split(';', 1)[0])].filter(Boolean).join('; ');
  const body = new URLSearchParams({ csrfToken, callbackUrl: `${origin}/user` });
  const signIn = await answer('/auth/signin/gatehouse', { cookie, method: 'POST', body });
  for (const line of cookies) response.append('set-cookie', line);
  handOn(signIn, response);
  response.end();
});
app.get('/auth/callback/gatehouse', async (request, response) => {
  const from = await answer(request.url, request.headers);
  handOn(from, response);
  response.end(await from.text());
});
app.get('/auth/error', (request, response) => response.status(500).json(request.query));
app.get('/user', async (request, response) => {
  const session = await (await answer('/auth/session', request.headers)).json();
  response.json({ claims: session?.profile, userinfo: session?.user });
});
listen(app);

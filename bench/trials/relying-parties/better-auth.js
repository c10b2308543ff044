import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { toNodeHandler } from 'better-auth/node';
import { genericOAuth } from 'better-auth/plugins';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, clientSecret, issuer } = settings;
const tables = { user: [], session: [], account: [], verification: [] };
const auth = betterAuth({
  baseURL: origin,
  secret: 'a secret of this application, of 32 characters',
  database: memoryAdapter(tables),
  plugins: [
    genericOAuth({
      config: [
        {
          providerId: 'gatehouse',
          clientId,
          clientSecret,
          discoveryUrl: `${issuer}/.well-known/openid-configuration`,
          scopes: ['openid', 'profile', 'email'],
          pkce: true,
        },
      ],
    }),
  ],
});

const app = createApp();
app.get('/login', async (_request, response) => {
  const { headers, response: answer } = await auth.api.signInSocial({
    body: { provider: 'gatehouse', callbackURL: '/user', errorCallbackURL: '/failed' },
    returnHeaders: true,
  });
  for (const line of headers.getSetCookie()) response.append('set-cookie', line);
  response.redirect(answer.url);
});
app.all('/api/auth/*path', toNodeHandler(auth));
app.get('/failed', (request, response) => response.status(500).json(request.query));
app.get('/user', async (request, response) => {
  const session = await auth.api.getSession({
    headers: new Headers({ cookie: request.headers.cookie ?? '' }),
  });
  const [account] = tables.account;
  response.json({ claims: { sub: account?.accountId }, userinfo: session?.user });
});
listen(app);

import { generators, Issuer } from 'openid-client-5';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, clientSecret, issuer, redirectUri, scope } = settings;
const found = await Issuer.discover(issuer);
const client = new found.Client({
  client_id: clientId,
  client_secret: clientSecret,
  redirect_uris: [redirectUri],
  post_logout_redirect_uris: [`${origin}/left`],
});
const stored = {};

const app = createApp();
app.get('/login', (_request, response) => {
  stored.checks = { nonce: generators.nonce(), state: generators.state() };
  response.redirect(client.authorizationUrl({ scope, ...stored.checks }));
});
app.get('/callback', async (request, response) => {
  stored.tokens = await client.callback(redirectUri, client.callbackParams(request), stored.checks);
  response.redirect('/user');
});
app.get('/user', async (_request, response) => {
  response.json({ claims: stored.tokens.claims(), userinfo: await client.userinfo(stored.tokens) });
});
app.get('/refresh', async (_request, response) => {
  const { id_token: idToken, refresh_token: token } = stored.tokens;
  stored.tokens = await client.refresh(stored.tokens);
  stored.tokens.id_token ??= idToken;
  response.json({ refreshed: stored.tokens.refresh_token !== token });
});
app.get('/logout', (_request, response) => {
  response.redirect(client.endSessionUrl({ id_token_hint: stored.tokens, state: 'left' }));
});
app.get('/left', (request, response) => response.json(request.query));
listen(app);

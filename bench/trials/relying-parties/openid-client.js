import * as client from 'openid-client';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, clientSecret, issuer, redirectUri, scope } = settings;
const execute = [client.allowInsecureRequests];
const configuration = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, { execute });
const stored = {};

const app = createApp();
app.get('/login', async (_request, response) => {
  stored.checks = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedNonce: client.randomNonce(),
    expectedState: client.randomState(),
    maxAge: 3600,
  };
  const { expectedNonce: nonce, expectedState: state, pkceCodeVerifier } = stored.checks;
  const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier);
  const parameters = { redirect_uri: redirectUri, scope, state, nonce, max_age: '3600', code_challenge };
  const url = client.buildAuthorizationUrl(configuration, { ...parameters, code_challenge_method: 'S256' });
  response.redirect(url.href);
});
app.get('/callback', async (request, response) => {
  const url = new URL(request.url, origin);
  stored.tokens = await client.authorizationCodeGrant(configuration, url, stored.checks);
  response.redirect('/user');
});
app.get('/user', async (_request, response) => {
  const claims = stored.tokens.claims();
  const userinfo = await client.fetchUserInfo(configuration, stored.tokens.access_token, claims.sub);
  response.json({ claims, userinfo });
});
app.get('/refresh', async (_request, response) => {
  const { refresh_token: token } = stored.tokens;
  stored.tokens = { ...stored.tokens, ...(await client.refreshTokenGrant(configuration, token)) };
  response.json({ refreshed: stored.tokens.refresh_token !== token });
});
app.get('/logout', (_request, response) => {
  const parameters = {
    id_token_hint: stored.tokens.id_token,
    post_logout_redirect_uri: `${origin}/left`,
    state: 'left',
  };
  response.redirect(client.buildEndSessionUrl(configuration, parameters).href);
});
app.get('/left', (request, response) => response.json(request.query));
listen(app);

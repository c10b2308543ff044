import * as oauth from 'oauth4webapi';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, clientSecret, issuer, redirectUri, scope } = settings;
const insecure = { [oauth.allowInsecureRequests]: true };
const url = new URL(issuer);
const server = await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, insecure));
const client = { client_id: clientId };
const authentication = oauth.ClientSecretBasic(clientSecret);
const stored = {};

const app = createApp();
app.get('/login', async (_request, response) => {
  Object.assign(stored, {
    verifier: oauth.generateRandomCodeVerifier(),
    nonce: oauth.generateRandomNonce(),
    state: oauth.generateRandomState(),
  });
  const to = new URL(server.authorization_endpoint);
  to.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    nonce: stored.nonce,
    state: stored.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(stored.verifier),
    code_challenge_method: 'S256',
  });
  response.redirect(to.href);
});
app.get('/callback', async (request, response) => {
  const parameters = oauth.validateAuthResponse(server, client, new URL(request.url, origin), stored.state);
  const given = [server, client, authentication, parameters, redirectUri, stored.verifier, insecure];
  const answer = await oauth.authorizationCodeGrantRequest(...given);
  const options = { expectedNonce: stored.nonce, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, options);
  await oauth.validateApplicationLevelSignature(server, answer, insecure);
  Object.assign(stored, { tokens, claims: oauth.getValidatedIdTokenClaims(tokens) });
  response.redirect('/user');
});
app.get('/user', async (_request, response) => {
  const { claims, tokens } = stored;
  const answer = await oauth.userInfoRequest(server, client, tokens.access_token, insecure);
  response.json({
    claims,
    userinfo: await oauth.processUserInfoResponse(server, client, claims.sub, answer),
  });
});
app.get('/refresh', async (_request, response) => {
  const { refresh_token: token } = stored.tokens;
  const answer = await oauth.refreshTokenGrantRequest(server, client, authentication, token, insecure);
  stored.tokens = { ...stored.tokens, ...(await oauth.processRefreshTokenResponse(server, client, answer)) };
  response.json({ refreshed: stored.tokens.refresh_token !== token });
});
app.get('/logout', (_request, response) => {
  const to = new URL(server.end_session_endpoint);
  to.search = new URLSearchParams({
    id_token_hint: stored.tokens.id_token,
    post_logout_redirect_uri: `${origin}/left`,
    state: 'left',
  });
  response.redirect(to.href);
});
app.get('/left', (request, response) => response.json(request.query));
listen(app);

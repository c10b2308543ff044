import openid from 'express-openid-connect';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, clientSecret, issuer, scope } = settings;

/** A session store as express-session defines it. */
class Store {
  #entries = new Map();
  get(id, done) {
    done(null, this.#entries.get(id));
  }
  set(id, value, done) {
    this.#entries.set(id, value);
    done?.(null);
  }
  destroy(id, done) {
    this.#entries.delete(id);
    done?.(null);
  }
}

const app = createApp();
app.use(
  openid.auth({
    issuerBaseURL: issuer,
    baseURL: origin,
    clientID: clientId,
    clientSecret,
    secret: 'a secret of this application, of 32 characters',
    authRequired: false,
    idpLogout: true,
    idTokenSigningAlg: 'RS256',
    authorizationParams: { response_type: 'code', scope },
    session: { store: new Store() },
    backchannelLogout: { store: new Store() },
    routes: { postLogoutRedirect: '/left' },
  }),
);
app.get('/', (_request, response) => response.redirect('/user'));
app.get('/user', async (request, response) => {
  const { oidc } = request;
  if (!oidc.isAuthenticated()) return response.json({ signedIn: false });
  return response.json({ claims: oidc.idTokenClaims, userinfo: await oidc.fetchUserInfo() });
});
app.get('/refresh', async (request, response) => {
  const before = request.oidc.refreshToken;
  await request.oidc.accessToken.refresh();
  response.json({ refreshed: request.oidc.refreshToken !== before });
});
app.get('/left', (request, response) =>
  response.json({ ...request.query, signedIn: request.oidc.isAuthenticated() }),
);
listen(app);

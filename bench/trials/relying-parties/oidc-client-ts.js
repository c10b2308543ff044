// Serves a page that signs its user in with oidc-client-ts in the browser, as a public client.
import { join } from 'node:path';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, issuer, redirectUri, scope } = settings;
const library = join(import.meta.dirname, 'node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js');

const page = (work) => `<!doctype html><title>App</title><script src="/oidc-client-ts.js"></script><script>
const manager = new oidc.UserManager({
  authority: ${JSON.stringify(issuer)},
  client_id: ${JSON.stringify(clientId)},
  redirect_uri: ${JSON.stringify(redirectUri)},
  post_logout_redirect_uri: ${JSON.stringify(`${origin}/left`)},
  scope: ${JSON.stringify(scope)},
  loadUserInfo: true,
});
const show = (value) => { document.body.textContent = JSON.stringify(value); };
(async () => { ${work} })().catch((error) => show({ failed: String(error) }));
</script><body></body>`;
const user = 'show({ claims: { sub: user.profile.sub }, userinfo: user.profile });';
const WORKS = {
  login: 'await manager.signinRedirect();',
  callback: `const user = await manager.signinCallback(); history.replaceState(null, "", "/user"); ${user}`,
  user: `const user = await manager.getUser(); ${user}`,
  refresh: `const before = (await manager.getUser()).refresh_token; const after = await manager.signinSilent();
    show({ refreshed: after.refresh_token !== before });`,
  logout: 'await manager.signoutRedirect();',
  left: 'await manager.signoutCallback(); show({ signedIn: (await manager.getUser()) !== null });',
};

const app = createApp();
app.get('/oidc-client-ts.js', (_request, response) => response.sendFile(library));
for (const [path, work] of Object.entries(WORKS))
  app.get(`/${path}`, (_request, response) => response.send(page(work)));
listen(app);

// Serves an Angular application that signs its user in with angular-oauth2-oidc in the browser, as a public client.
import { join } from 'node:path';

import { build } from 'esbuild';

import { createApp, listen, origin, settings } from './program.js';

const { clientId, issuer, redirectUri, scope } = settings;
const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, 'angular-oauth2-oidc-app.js')],
  bundle: true,
  format: 'esm',
  write: false,
  define: {
    CONFIGURATION: JSON.stringify({
      issuer,
      clientId,
      redirectUri,
      postLogoutRedirectUri: `${origin}/left`,
      scope,
      responseType: 'code',
      // It takes http for localhost alone, and the server is at an address.
      requireHttps: false,
    }),
  },
});

const app = createApp();
app.get('/app.js', (_request, response) => response.type('js').send(outputFiles[0].text));
for (const path of ['login', 'callback', 'user', 'refresh', 'logout', 'left'])
  app.get(`/${path}`, (_request, response) =>
    response.send(
      '<!doctype html><title>App</title><app-root></app-root><script type="module" src="/app.js"></script>',
    ),
  );
listen(app);

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { OpenApiDocument } from '../openapi/document.ts';
import { CLIENT_ID, FIRST_CALL_STYLE, firstCallSection } from './first-call.ts';
import type { ApiAccess } from './first-call.ts';
import { html } from './html.ts';

// A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/** A viewer of OpenAPI documents in the browser: its page, and the files that the page loads. */
export interface DocsViewer {
  /** Where it receives authorization responses. */
  readonly redirectUri: string;
  /** @param document - what is shown before the description is read: its title */
  page(document: OpenApiDocument): string;
  /** Reads each file, by its name. */
  readonly files: Readonly<Record<string, () => string>>;
}

/**
 * Makes a viewer of Swagger UI, where the host has installed `swagger-ui-dist`. Everything comes from this server; nothing is sent to
 * another one.
 *
 * A guarded description is read with the token that a developer gets by "Authorize": until then the viewer shows how to get one.
 *
 * @returns `undefined` where it is not installed
 */
export function createViewer(access: ApiAccess, isPublic: boolean): DocsViewer | undefined {
  const { baseUrl, resource } = access;
  const folder = findSwaggerUi();
  if (folder === undefined) return undefined;
  const read = (name: string) => (): string => readFileSync(join(folder, name), 'utf8');
  const root = new URL(baseUrl).pathname;
  const redirectUri = `${baseUrl}/docs/oauth2-redirect.html`;
  return {
    redirectUri,
    page: ({ info: { title } }) =>
      html`<!doctype html>
        <html lang="en">
          <head>
            <meta charset="utf-8" />
            <meta name="viewport" content="width=device-width, initial-scale=1" />
            <title>${title}</title>
            <link rel="icon" href="data:," />
            <link rel="stylesheet" href="${root}/docs/swagger-ui.css" />
            <link rel="stylesheet" href="${root}/docs/viewer.css" />
            <script src="${root}/docs/swagger-ui-bundle.js" defer></script>
            <script src="${root}/docs/viewer.js" defer></script>
          </head>
          <body>
            ${firstCallSection(access)}
            <main
              id="viewer"
              data-root="${root}"
              data-description="${isPublic ? 'openapi.json' : 'docs/access.json'}"
              data-redirect-uri="${redirectUri}"
              data-resource="${resource}"
              data-client-id="${CLIENT_ID}"
            >
              <noscript
                >This page needs JavaScript. Programs read
                <a href="${root}/openapi.json">openapi.json</a>.</noscript
              >
            </main>
          </body>
        </html> `.text,
    files: {
      'swagger-ui.css': read('swagger-ui.css'),
      'swagger-ui-bundle.js': read('swagger-ui-bundle.js'),
      'oauth2-redirect.html': read('oauth2-redirect.html'),
      'oauth2-redirect.js': read('oauth2-redirect.js'),
      'viewer.css': () => STYLE,
      'viewer.js': () => SCRIPT,
    },
  };
}

function findSwaggerUi(): string | undefined {
  try {
    return dirname(require.resolve('swagger-ui-dist/package.json'));
  } catch {
    return undefined;
  }
}

/** What a caller who has no token yet may know of a guarded API: where to get one. */
export function accessDescription({ info, servers, components, ...document }: OpenApiDocument): object {
  return {
    openapi: document.openapi,
    info: {
      title: info.title,
      version: info.version,
      description: 'Press **Authorize** to see the operations that your app may call.',
    },
    servers,
    security: document['security'],
    paths: {},
    components: { securitySchemes: components['securitySchemes'] },
  };
}

// In the browser. The token of "Authorize" reads the description again: it shows what its caller may do.
const SCRIPT = `
const element = document.getElementById('viewer');
const { root, description, redirectUri, resource, clientId } = element.dataset;
const scheme = matchMedia('(prefers-color-scheme: dark)');
const setScheme = () => document.documentElement.classList.toggle('dark-mode', scheme.matches);
scheme.addEventListener('change', setScheme);
setScheme();
async function describe(token) {
  const headers = token ? { Authorization: 'Bearer ' + token } : {};
  const answer = await fetch(root + '/openapi.json', { headers });
  if (answer.ok) viewer.specActions.updateSpec(await answer.text());
}
const describedBy = (tokenOf) => (authorize) => (payload) => {
  const done = authorize(payload);
  describe(tokenOf(payload));
  return done;
};
function fillIn(id) {
  if (!/^[\\w.:/-]+$/.test(id ?? '')) return;
  for (const code of document.querySelectorAll('.first-call code'))
    code.textContent = code.textContent.replaceAll(clientId, id);
}
const viewer = SwaggerUIBundle({
  domNode: element,
  url: root + '/' + description,
  oauth2RedirectUrl: redirectUri,
  validatorUrl: null,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  plugins: [
    () => ({
      statePlugins: {
        auth: {
          wrapActions: {
            authorize: describedBy((schemes) => Object.values(schemes)[0]?.value),
            authorizeOauth2: describedBy(({ auth, token }) => {
              fillIn(auth?.clientId);
              return token?.access_token;
            }),
          },
        },
      },
    }),
  ],
});
// Names that Swagger UI leaves out, or that are not those that are seen, and what scrolls but cannot be focused.
function nameControls() {
  for (const select of element.querySelectorAll('#servers:not([aria-label])')) select.setAttribute('aria-label', 'Server');
  for (const button of element.querySelectorAll('.close-modal:not([aria-label])')) button.setAttribute('aria-label', 'Close');
  for (const button of element.querySelectorAll('.modal-btn[aria-label]')) button.removeAttribute('aria-label');
  for (const link of element.querySelectorAll('button a[href]')) link.removeAttribute('href');
  for (const text of element.querySelectorAll('pre.microlight:not([tabindex])')) text.tabIndex = 0;
}
new MutationObserver(nameControls).observe(element, { childList: true, subtree: true });
viewer.initOAuth({
  usePkceWithAuthorizationCodeGrant: true,
  additionalQueryStringParams: { resource },
});
`;

const STYLE = `
:root { color-scheme: light; --page: #ffffff; --text: #1b1b1f; --line: #e4e5ea; --wash: #f6f6f8; }
:root.dark-mode { color-scheme: dark; --page: #1c2022; --text: #e4e6e6; --line: #3a3f42; --wash: #131316; }
body { margin: 0; color: var(--text); background: var(--page); }
.swagger-ui .wrapper, .first-call { max-width: 60rem; padding: 0 1.25rem; margin: 0 auto; }
.first-call { padding-top: 2rem; font: 1rem/1.5 system-ui, sans-serif; }
.first-call pre { padding: 0.875rem 1rem; font-size: 0.875rem; background: var(--wash); border-radius: 0.5rem; }
/* Colours of Swagger UI whose contrast is below 4.5 (WCAG 2.2). */
:root:not(.dark-mode) .swagger-ui :is(.info .title small, .info .title small.version-stamp) { background: #4d6b00; }
:root:not(.dark-mode) .swagger-ui :is(.info .url, .info a, .scopes h2 a) { color: #0b57d0; }
:root:not(.dark-mode) .swagger-ui .btn.authorize { color: #1b7a4e; border-color: #1b7a4e; }
:root:not(.dark-mode) .swagger-ui .btn.authorize svg { fill: #1b7a4e; }
:root:not(.dark-mode) .swagger-ui .btn.cancel { color: #c62828; border-color: #c62828; }
:root:not(.dark-mode) .swagger-ui .btn.execute { background: #0b57d0; border-color: #0b57d0; }
:root:not(.dark-mode) .swagger-ui .download-contents { background: #5a5d66; }
:root:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #0b57d0; }
:root:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #1b7a4e; }
:root:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #9a5b00; }
:root:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #c62828; }
:root:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #00796b; }
:root.dark-mode .swagger-ui .headers .header-col { color: var(--text); }
noscript { display: block; padding: 2rem; font: 1rem/1.5 system-ui, sans-serif; }
${FIRST_CALL_STYLE}`;

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { OpenApiDocument } from '../openapi/document.ts';
import { CLIENT_ID, FIRST_CALL_STYLE, firstCallSection } from './first-call.ts';
import type { ApiAccess } from './first-call.ts';
import { html } from './html.ts';
import { FONT, LOOK_STYLE, platformHeader, variablesOf } from './look.ts';

// A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/** A viewer of OpenAPI documents in the browser: its page, and the files that the page loads. */
export interface DocsViewer {
  /** The URI at which the viewer receives authorization responses. */
  readonly redirectUri: string;
  /** @param document - the document whose title is shown before the description is read */
  page(document: OpenApiDocument): string;
  /** Reads each file, by its name. */
  readonly files: Readonly<Record<string, () => string>>;
}

/**
 * Makes a viewer of Swagger UI, where the host has installed `swagger-ui-dist`. Everything comes from this server, and nothing is sent to
 * another server.
 *
 * A guarded description is read with the token that a developer gets by "Authorize". Until then, the viewer shows how to get a token.
 *
 * @returns `undefined` where `swagger-ui-dist` is not installed
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
            ${platformHeader(access)}
            <section aria-labelledby="title">
              <h1 id="title">${title}</h1>
              ${firstCallSection(access)}
            </section>
            <div
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
            </div>
          </body>
        </html> `.text,
    files: {
      'swagger-ui.css': read('swagger-ui.css'),
      'swagger-ui-bundle.js': read('swagger-ui-bundle.js'),
      'oauth2-redirect.html': read('oauth2-redirect.html'),
      'oauth2-redirect.js': read('oauth2-redirect.js'),
      'viewer.css': () => variablesOf(access) + LOOK_STYLE + STYLE,
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

/** What a caller without a token may know about a guarded API: where to get a token. */
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
  // The page has a heading of its own, above those of Swagger UI. Its main part has the operations alone.
  for (const title of element.querySelectorAll('h1:not([aria-level])')) title.setAttribute('aria-level', '2');
  for (const title of element.querySelectorAll('.scopes h2:not([aria-level])')) title.setAttribute('aria-level', '5');
  for (const [part, label] of [['.information-container', 'About the API'], ['.scheme-container', 'Server and access']])
    for (const region of element.querySelectorAll(part + ':not([role])')) {
      region.setAttribute('role', 'region');
      region.setAttribute('aria-label', label);
    }
}
new MutationObserver(nameControls).observe(element, { childList: true, subtree: true });
viewer.initOAuth({
  usePkceWithAuthorizationCodeGrant: true,
  additionalQueryStringParams: { resource },
});
`;

// Swagger UI has fonts, sizes and colours in rules for most of its elements.
const STYLE = `
body { margin: 0; }
:root:root { background: var(--page); }
.swagger-ui .wrapper, .first-call, #title, .platform { box-sizing: border-box; max-width: 60rem; padding: 0 1.25rem; margin: 0 auto; }
.platform { max-width: 80rem; padding-top: 0.75rem; padding-bottom: 0.25rem; }
#title { padding-top: 2rem; }
.first-call { padding-top: 1.5rem; }
.first-call h2 { font-size: 1.125rem; }
.first-call pre { padding: 0.875rem 1rem; font-size: 0.875rem; background: var(--wash); border: 1px solid var(--line); border-radius: var(--radius); }
:root:root .swagger-ui { color: var(--text); background: var(--page); }
.swagger-ui, .swagger-ui :not(:is(pre, code, .opblock-summary-path, .microlight, :is(pre, code, .opblock-summary-path) *)) {
  font-family: ${FONT} !important;
}
:root:root .swagger-ui :is(.scheme-container, section.models, .opblock-tag) { background: none; box-shadow: none; border-color: var(--line); }
:root:root .swagger-ui .info { margin: 2rem 0 1rem; }
:root:root .swagger-ui .info .title { font-size: 1.125rem; color: var(--text); }
:root:root .swagger-ui :is(.info .title small, .info .title small.version-stamp) { background: var(--muted); }
:root:root .swagger-ui .info .title small pre { color: var(--page); }
:root:root .swagger-ui :is(.info .url, .info a, .scopes h2 a, .link) { color: var(--accent); }
:root:root .swagger-ui :is(.btn, select, input, textarea) { border-radius: var(--radius); box-shadow: none; }
:root:root:root .swagger-ui .btn.authorize { color: var(--accent); border-color: var(--accent); }
:root:root:root .swagger-ui .btn.authorize svg path { fill: var(--accent); }
:root:root:root .swagger-ui .btn.cancel { color: var(--error); border-color: var(--error); }
:root:root:root .swagger-ui .btn.execute { color: var(--on-accent); background: var(--accent); border-color: var(--accent); }
:root:root .swagger-ui .execute-wrapper .btn, :root .swagger-ui .btn-group .btn { border-radius: var(--radius); }
:root:root:root .swagger-ui .btn-group { gap: 0.75rem; }
:root:root .swagger-ui .opblock { border-radius: var(--radius); box-shadow: none; }
:root:root .swagger-ui .dialog-ux .modal-ux { background: var(--page); border: 1px solid var(--border); border-radius: var(--radius); }
.swagger-ui :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
/* As large as a finger (WCAG 2.2, 2.5.8), and no wider than the window. */
.swagger-ui .opblock-summary .view-line-link, .swagger-ui .opblock-summary .view-line-link button { flex: none; width: 24px; min-width: 24px; }
.swagger-ui .opblock-summary-path { min-width: 0; }
.swagger-ui :is(.table-container, .responses-inner, .opblock-body) { max-width: 100%; overflow-x: auto; }
/* Colours of Swagger UI whose contrast is below 4.5 (WCAG 2.2). */
:root:not(.dark-mode) .swagger-ui .download-contents { background: #5a5d66; }
:root:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #0b57d0; }
:root:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #1b7a4e; }
:root:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #9a5b00; }
:root:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #c62828; }
:root:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #00796b; }
:root.dark-mode .swagger-ui .headers .header-col { color: var(--text); }
noscript { display: block; padding: 2rem 1.25rem; }
${FIRST_CALL_STYLE}`;

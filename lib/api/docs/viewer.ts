import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { OpenApiDocument } from '../openapi/document.ts';
import { html } from './page.ts';

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
export function createViewer({
  baseUrl,
  isPublic,
  resource,
}: {
  /** The URL of the API. */
  readonly baseUrl: string;
  readonly isPublic: boolean;
  /** The API as tokens name it. */
  readonly resource: string;
}): DocsViewer | undefined {
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
            <div
              id="viewer"
              data-root="${root}"
              data-description="${isPublic ? 'openapi.json' : 'docs/access.json'}"
              data-redirect-uri="${redirectUri}"
              data-resource="${resource}"
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
const { root, description, redirectUri, resource } = element.dataset;
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
            authorizeOauth2: describedBy(({ token }) => token?.access_token),
          },
        },
      },
    }),
  ],
});
viewer.initOAuth({
  usePkceWithAuthorizationCodeGrant: true,
  additionalQueryStringParams: { resource },
});
`;

const STYLE = `
body { margin: 0; }
html.dark-mode { background: #131316; color-scheme: dark; }
.swagger-ui .wrapper { max-width: 60rem; padding: 0 1.25rem; }
noscript { display: block; padding: 2rem; font: 1rem/1.5 system-ui, sans-serif; }
`;

import { problemResponses, WRITE_PROBLEMS } from '../openapi/components.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';
import { operationSection, operationsOf, titleOf } from './operation.ts';
import { definitions, resolve, text } from './schema.ts';

export interface PageOptions {
  readonly issuer: string;
  /** Of the API. */
  readonly baseUrl: string;
}

/** Writes the description of an API for people. It needs no script and nothing from elsewhere. */
export function docsPage(document: OpenApiDocument, { issuer, baseUrl }: PageOptions): string {
  const { info } = document;
  const operations = operationsOf(document);
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const root = new URL(baseUrl).pathname;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}</title>
        <link rel="stylesheet" href="${root}/docs.css" />
      </head>
      <body>
        <header>
          <h1>${info.title}</h1>
          <p class="muted">
            Version ${info.version}. For programs: <a href="${root}/openapi.json">openapi.json</a>
          </p>
          ${info.description !== undefined && html`<p>${info.description}</p>`}
        </header>
        <nav aria-label="Contents">
          <ul>
            <li><a href="#access">Access</a></li>
            ${tags.map(
              (tag) =>
                html`<li>
                  ${tag}
                  <ul>
                    ${operations
                      .filter((one) => one.tag === tag)
                      .map((one) => html`<li><a href="#${one.id}">${titleOf(one)}</a></li>`)}
                  </ul>
                </li>`,
            )}
            <li><a href="#problems">Problems</a></li>
          </ul>
        </nav>
        <main>
          ${access(issuer, baseUrl)}
          ${tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                ${operations
                  .filter((one) => one.tag === tag)
                  .map((one) => operationSection(document, one, baseUrl))}`,
          )}
          ${problems(document)}
        </main>
      </body>
    </html> `.text;
}

function access(issuer: string, baseUrl: string): Html {
  const credentials = '{"grant_type":"client_credentials","client_id":"…","client_secret":"…"}';
  return html`<h2 id="access">Access</h2>
    <p>
      Every request carries an access token. An app gets one for itself with its client id and secret; an app
      that acts for a person sends that person to <code>${issuer}/oauth/authorize</code>.
    </p>
    <pre tabindex="0"><code>${`curl '${issuer}/oauth/token' \\\n  --json '${credentials}'`}</code></pre>
    <p>Then, with the <code>access_token</code> of the answer:</p>
    <pre
      tabindex="0"
    ><code>${`curl '${baseUrl}/identity' \\\n  --header 'Authorization: Bearer TOKEN'`}</code></pre>`;
}

function problems(document: OpenApiDocument): Html {
  const entries = Object.entries(problemResponses(WRITE_PROBLEMS)).map(([status, response]) => ({
    name: status,
    words: '',
    meaning: text(resolve(document, response)['description']),
  }));
  return html`<h2 id="problems">Problems</h2>
    <p>
      What goes wrong is answered with <code>application/problem+json</code>: <code>code</code> is stable and
      for programs, <code>detail</code> says what to do.
    </p>
    ${definitions(entries)}`;
}

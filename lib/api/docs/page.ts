import { isPart, METHODS } from '../openapi/components.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { FIRST_CALL_STYLE, firstCallSection } from './first-call.ts';
import type { ApiAccess } from './first-call.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';
import { LOOK_STYLE, platformHeader, variablesOf } from './look.ts';
import type { Platform } from './look.ts';

/** Writes the page of an API without a viewer: how to get a token, and the operations. It has no scripts. */
export function docsPage(document: OpenApiDocument, access: ApiAccess): string {
  const { info } = document;
  const root = new URL(access.baseUrl).pathname;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}</title>
        <link rel="stylesheet" href="${root}/docs.css" />
      </head>
      <body>
        ${platformHeader(access)}
        <main>
          <h1>${info.title}</h1>
          <p class="muted">
            Version ${info.version}. For programs and viewers:
            <a href="${root}/openapi.json">openapi.json</a>
          </p>
          ${info.description !== undefined && html`<p>${info.description}</p>`} ${firstCallSection(access)}
          <h2>Operations</h2>
          <dl>${operationsOf(document)}</dl>
        </main>
      </body>
    </html> `.text;
}

function operationsOf({ paths }: OpenApiDocument): readonly Html[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      if (!METHODS.has(method) || !isPart(operation)) return [];
      const address = `${method.toUpperCase()} ${path}`;
      const { summary } = operation;
      const title = typeof summary === 'string' && summary !== '' ? summary : address;
      return html`<dt>${title}</dt>
        <dd><code>${address}</code></dd>`;
    }),
  );
}

/** The style sheet of the page. */
export function styleOf(platform: Platform): string {
  return variablesOf(platform) + LOOK_STYLE + STYLE;
}

const STYLE = `
*, ::before, ::after { box-sizing: border-box; margin: 0; }
html { overflow-wrap: anywhere; }
body { max-width: 52rem; margin: 0 auto; padding: 0.75rem 1.25rem 4rem; }
.platform { padding-bottom: 0.25rem; margin-bottom: 2rem; }
h2 { margin-top: 3rem; font-size: 1.375rem; font-weight: 650; }
p, pre { margin-top: 0.75rem; }
.muted, dd { color: var(--muted); }
code, pre { font: 0.875rem/1.6 ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace; }
pre { padding: 0.875rem 1rem; overflow-x: auto; overflow-wrap: normal; background: var(--wash); border-radius: 0.5rem; }
dl { margin-top: 0.75rem; border-top: 1px solid var(--line); }
dt { padding-top: 0.5rem; }
dd { padding-bottom: 0.5rem; border-bottom: 1px solid var(--line); }
${FIRST_CALL_STYLE}`;

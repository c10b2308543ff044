import { isPart, METHODS } from '../openapi/components.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { FIRST_CALL_STYLE, firstCallSection } from './first-call.ts';
import type { ApiAccess } from './first-call.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

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
        <header>
          <h1>${info.title}</h1>
          <p class="muted">
            Version ${info.version}. For programs and viewers:
            <a href="${root}/openapi.json">openapi.json</a>
          </p>
          ${info.description !== undefined && html`<p>${info.description}</p>`}
        </header>
        <main>
          ${firstCallSection(access)}
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

/** The style sheet of the page. The numbers in comments are contrast ratios with the background (WCAG 2.2). */
export const STYLE: string = `
:root {
  color-scheme: light dark;
  --page: #ffffff;
  --text: #1b1b1f; /* 17.2 */
  --muted: #5a5d66; /* 6.6 */
  --accent: #0b57d0; /* 6.4 */
  --line: #e4e5ea;
  --wash: #f6f6f8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131316;
    --text: #ececf1; /* 15.8 */
    --muted: #a9acb8; /* 8.2 */
    --accent: #8ab4f8; /* 8.8 */
    --line: #2c2d33;
    --wash: #1c1c21;
  }
}
*, ::before, ::after { box-sizing: border-box; margin: 0; }
html {
  font: 100%/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
  text-size-adjust: none;
  overflow-wrap: anywhere;
  color: var(--text);
  background: var(--page);
}
body { max-width: 52rem; margin: 0 auto; padding: clamp(2rem, 8vh, 5rem) 1.25rem 4rem; }
h1 { font-size: 2rem; font-weight: 650; line-height: 1.2; letter-spacing: -0.02em; }
h2 { margin-top: 3rem; font-size: 1.375rem; font-weight: 650; }
p, pre { margin-top: 0.75rem; }
.muted, dd { color: var(--muted); }
a { color: var(--accent); text-underline-offset: 0.2em; }
a:focus-visible, pre:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
code, pre { font: 0.875rem/1.6 ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace; }
pre { padding: 0.875rem 1rem; overflow-x: auto; overflow-wrap: normal; background: var(--wash); border-radius: 0.5rem; }
dl { margin-top: 0.75rem; border-top: 1px solid var(--line); }
dt { padding-top: 0.5rem; }
dd { padding-bottom: 0.5rem; border-bottom: 1px solid var(--line); }
summary:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
${FIRST_CALL_STYLE}`;

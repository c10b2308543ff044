import { createHash } from 'node:crypto';

import type { Context, Middleware } from 'koa';

import { setAssetHeaders, setPageHeaders } from '../../http/headers.ts';
import { docsPage, STYLE } from '../docs/page.ts';
import type { OpenApiDocument } from './document.ts';

export interface DescriptionOptions {
  readonly issuer: string;
  /** Of the API. */
  readonly baseUrl: string;
}

/** What answers `/openapi.json`, the page `/docs`, and its style `/docs.css`. */
export function serveDescription(
  document: OpenApiDocument,
  { issuer, baseUrl }: DescriptionOptions,
): Readonly<Record<'/openapi.json' | '/docs' | '/docs.css', Middleware>> {
  const json = JSON.stringify(document);
  const page = docsPage(document, { issuer, baseUrl });

  return {
    '/openapi.json': send('application/json; charset=utf-8', json, (ctx) =>
      ctx.set('X-Content-Type-Options', 'nosniff'),
    ),
    '/docs': send('text/html; charset=utf-8', page, (ctx) => setPageHeaders(ctx)),
    '/docs.css': send('text/css; charset=utf-8', STYLE, (ctx) => setAssetHeaders(ctx, false)),
  };
}

/** Sends a text that does not change while this server runs. */
function send(type: string, content: string, setHeaders: (ctx: Context) => void): Middleware {
  const etag = createHash('sha256').update(content).digest('base64url');
  return function sendText(ctx) {
    setHeaders(ctx);
    ctx.type = type;
    ctx.set({ 'Cache-Control': 'no-cache', ETag: `"${etag}"` });
    ctx.status = 200;
    if (ctx.fresh) ctx.status = 304;
    else ctx.body = content;
  };
}

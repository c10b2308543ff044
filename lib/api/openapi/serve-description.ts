import { createHash } from 'node:crypto';

import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';

import type { GuardedState } from '../../contracts/index.ts';
import { setAssetHeaders, setPageHeaders } from '../../http/headers.ts';
import { docsPage, STYLE } from '../docs/page.ts';
import { checkOpenApiOptions } from './check-options.ts';
import { describeApi, describeApiTo, permissionsOf } from './document.ts';
import type { DescribedApi, OpenApiDocument, OpenApiOptions } from './document.ts';

/** A text with the `ETag` of its content. */
interface Text {
  readonly content: string;
  readonly etag: string;
}

type Render = (document: OpenApiDocument) => string;
type FindText = (ctx: Context) => Text;

/**
 * Creates the handlers of `/openapi.json`, of the page `/docs` and of its stylesheet `/docs.css`. Unless the description is public,
 * they run after the guard.
 *
 * @throws ConfigError for a wrong option, and when `paths` contains a path that the API describes itself
 */
export function serveDescription(
  described: DescribedApi,
  options: OpenApiOptions,
): Readonly<Record<'/openapi.json' | '/docs' | '/docs.css', Middleware>> {
  checkOpenApiOptions(options, described.gate);
  const isPublic = options.access === 'public';
  // Also for a guarded description, because this checks `paths` at start.
  const whole = describeApi(described, options);
  const textOf = (render: Render): FindText => {
    if (!isPublic) return createTextsOfCallers(described, options, render);
    const text = textFrom(render(whole));
    return () => text;
  };
  const style = textFrom(STYLE);
  // A guarded description depends on the caller, so shared caches must not store it (RFC 9111 section 5.2.2.7).
  const send = createSend(isPublic ? 'no-cache' : 'private, no-cache');

  return {
    '/openapi.json': send('application/json; charset=utf-8', textOf(JSON.stringify), (ctx) =>
      ctx.set('X-Content-Type-Options', 'nosniff'),
    ),
    '/docs': send(
      'text/html; charset=utf-8',
      textOf((document) => docsPage(document, described)),
      (ctx) => setPageHeaders(ctx),
    ),
    '/docs.css': send(
      'text/css; charset=utf-8',
      () => style,
      (ctx) => setAssetHeaders(ctx, false),
    ),
  };
}

// There is one text for each set of permissions, in practice one for each role.
const MAX_CACHED_TEXTS = 32;

/** Finds the text for a caller. Callers with the same permissions get the same text. */
function createTextsOfCallers(described: DescribedApi, options: OpenApiOptions, render: Render): FindText {
  const permissions = permissionsOf(described, options);
  const texts = new LRUCache<string, Text>({ max: MAX_CACHED_TEXTS });
  return function findText(ctx) {
    const { principal } = ctx.state as GuardedState;
    const granted = new Set(permissions.filter((name) => principal.can(name)));
    const key = [...granted].join(' ');
    const known = texts.get(key);
    if (known) return known;
    const text = textFrom(render(describeApiTo((name) => granted.has(name), described, options)));
    texts.set(key, text);
    return text;
  };
}

function textFrom(content: string): Text {
  return { content, etag: `"${createHash('sha256').update(content).digest('base64url')}"` };
}

function createSend(cacheControl: string) {
  return (type: string, find: FindText, setHeaders: (ctx: Context) => void): Middleware =>
    function sendText(ctx) {
      const { content, etag } = find(ctx);
      setHeaders(ctx);
      ctx.type = type;
      ctx.set({ 'Cache-Control': cacheControl, ETag: etag });
      ctx.status = 200;
      if (ctx.fresh) ctx.status = 304;
      else ctx.body = content;
    };
}

import { extname } from 'node:path';

import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';

import type { GuardedState } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import { compressible, contentOf, sendContent } from '../../http/content.ts';
import type { Content } from '../../http/content.ts';
import { setAssetHeaders, setPageHeaders } from '../../http/headers.ts';
import { imageOriginsOf } from '../docs/look.ts';
import { docsPage, styleOf } from '../docs/page.ts';
import { accessDescription, createViewer } from '../docs/viewer.ts';
import type { DocsViewer } from '../docs/viewer.ts';
import { describeApi, describeApiTo, permissionsOf } from './document.ts';
import type { DescribedApi, OpenApiDocument } from './document.ts';
import { checkPaths } from './options.ts';
import type { Description } from './options.ts';

type RenderDescription = (document: OpenApiDocument) => string;
type FindContent = (ctx: Context) => Content | Promise<Content>;

/** The handler of a path, and whether it runs without a token. */
export interface DescriptionRoute {
  readonly handler: Middleware;
  readonly isPublic: boolean;
}

/**
 * Creates the handlers of `/openapi.json`, of the page `/docs` and of the files that the page loads. Unless the description is public, a
 * request for it needs a token. The page of the viewer needs none, because it is the same for everyone.
 *
 * @throws ConfigError for a wrong operation, and when `paths` contains a path that the API describes itself
 */
export function serveDescription(
  api: Omit<DescribedApi, 'redirectUri'>,
  options: Description,
): Readonly<Record<string, DescriptionRoute>> {
  checkPaths(options.paths, api.gate);
  const isPublic = options.access === 'public';
  const viewer = options.viewer === false ? undefined : createViewer(api, isPublic);
  if (options.viewer === true && !viewer)
    throw new ConfigError('openapi.viewer', 'install swagger-ui-dist, or leave the option out');
  const described = { ...api, redirectUri: viewer?.redirectUri };
  // Made for a guarded description too, because this checks `paths` at start.
  const whole = describeApi(described, options);
  const contentFor = (render: RenderDescription): FindContent => {
    if (!isPublic) return createContentOfCallers(described, options, render);
    const content = contentOf(render(whole));
    return () => content;
  };
  // A guarded description depends on the caller, so shared caches must not store it (RFC 9111 section 5.2.2.7).
  const sendDescription = createSend(isPublic ? 'no-cache' : 'private, no-cache');
  const description = sendDescription('application/json; charset=utf-8', contentFor(JSON.stringify), (ctx) =>
    ctx.set('X-Content-Type-Options', 'nosniff'),
  );
  const imageOrigins = imageOriginsOf(api);
  const page = viewer
    ? {
        '/docs': { handler: sendViewer(() => viewer.page(whole), imageOrigins), isPublic: true },
        ...viewerFiles(viewer, whole),
      }
    : {
        '/docs': {
          handler: sendDescription(
            'text/html; charset=utf-8',
            contentFor((document) => docsPage(document, api)),
            (ctx) => setPageHeaders(ctx, { imageOrigins }),
          ),
          isPublic,
        },
        '/docs.css': {
          handler: sendDescription(
            'css',
            compressible(() => styleOf(api)),
            (ctx) => setAssetHeaders(ctx, false),
          ),
          isPublic,
        },
      };
  return { '/openapi.json': { handler: description, isPublic }, ...page };
}

const send = createSend('no-cache');

/** Swagger UI draws some of its icons from `data:` URLs, and calls the API and the token endpoint. */
function sendViewer(read: () => string, imageOrigins: readonly string[] = []): Middleware {
  return send('text/html; charset=utf-8', compressible(read), (ctx) => {
    setPageHeaders(ctx, {
      scripts: ["'self'"],
      imageOrigins: ['data:', ...imageOrigins],
      connections: ["'self'"],
    });
  });
}

function viewerFiles({ files }: DocsViewer, document: OpenApiDocument): Record<string, DescriptionRoute> {
  const all = { ...files, 'access.json': () => JSON.stringify(accessDescription(document)) };
  return Object.fromEntries(
    Object.entries(all).map(([name, read]) => [
      `/docs/${name}`,
      { handler: name.endsWith('.html') ? sendViewer(read) : sendFile(name, read), isPublic: true },
    ]),
  );
}

function sendFile(name: string, read: () => string): Middleware {
  return send(extname(name), compressible(read), (ctx) => setAssetHeaders(ctx, false));
}

// There is one description for each set of permissions, in practice one for each role.
const MAX_CACHED = 32;

/** Finds the description for a caller. Callers with the same permissions get the same description. */
function createContentOfCallers(
  described: DescribedApi,
  options: Description,
  render: RenderDescription,
): FindContent {
  const permissions = permissionsOf(described, options);
  const contents = new LRUCache<string, Content>({ max: MAX_CACHED });
  return function findContent(ctx) {
    const { principal } = ctx.state as GuardedState;
    const granted = new Set(permissions.filter((name) => principal.can(name)));
    const key = [...granted].join(' ');
    const known = contents.get(key);
    if (known) return known;
    const content = contentOf(render(describeApiTo((name) => granted.has(name), described, options)));
    contents.set(key, content);
    return content;
  };
}

function createSend(cacheControl: string) {
  return (type: string, find: FindContent, setHeaders: (ctx: Context) => void): Middleware =>
    async function answer(ctx) {
      const content = await find(ctx);
      setHeaders(ctx);
      ctx.type = type;
      ctx.set('Cache-Control', cacheControl);
      sendContent(ctx, content);
    };
}

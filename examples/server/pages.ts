import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';

import Router from 'koa-router';

import type { Render } from './views.ts';

const FILES = ['style.css', 'logo.svg', 'portal.svg', 'schools.js'].map(
  (name) => [name, readFileSync(resolve(import.meta.dirname, 'public', name))] as const,
);

export interface PagesOptions {
  readonly render: Render;
  /** Whether `/metrics` is served. */
  readonly metrics: boolean;
  /** The URL that agents connect to. */
  readonly agentsUrl: string;
}

/** The platform's own pages: the start page, the schools, the page that shows a code to copy, and their static files. */
export function createPages({ agentsUrl, metrics, render }: PagesOptions): Router {
  const router = new Router();

  router.get('/', (ctx) => render(ctx, 'start', { title: 'Larkfield Schools', metrics, agentsUrl }));

  router.get('/schools', (ctx) => render(ctx, 'schools', { title: 'Schools' }));

  // The redirect URI of apps without their own server, such as curl in a terminal.
  router.get('/code', (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    const answer = new URLSearchParams(ctx.querystring);
    render(ctx, 'code', {
      title: 'Your code',
      code: answer.get('code'),
      error: answer.get('error'),
      description: answer.get('error_description'),
    });
  });

  for (const [name, content] of FILES) {
    router.get(`/${name}`, (ctx) => {
      ctx.type = extname(name);
      ctx.body = content;
    });
  }

  return router;
}

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import ejs from 'ejs';
import type { Context } from 'koa';

/** Responds with a page. `<%= %>` in a view escapes its value. */
export type Render = (
  ctx: Context,
  view: View,
  page: { readonly title: string; readonly [name: string]: unknown },
) => void;

export type View =
  | 'start'
  | 'schools'
  | 'code'
  | 'not-found'
  | 'portal'
  | 'portal-closed'
  | 'portal-documents'
  | 'portal-document';

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

// The only page with a script.
const SCHOOLS_POLICY = `${POLICY}; script-src 'self'; connect-src 'self'`;

function load(name: View | 'layout', folder: string = 'views'): (page: object) => string {
  const text = readFileSync(resolve(import.meta.dirname, folder, `${name}.ejs`), 'utf8');
  return ejs.compile(text, { _with: false, localsName: 'page' });
}

/** Compiles the views once and returns the function that renders them. */
export function loadViews(): Render {
  const layout = load('layout');
  const views: Readonly<Record<View, (page: object) => string>> = {
    start: load('start'),
    schools: load('schools'),
    code: load('code'),
    'not-found': load('not-found'),
    portal: load('portal'),
    'portal-closed': load('portal-closed'),
    'portal-documents': load('portal-documents', 'documents/views'),
    'portal-document': load('portal-document', 'documents/views'),
  };
  return function render(ctx, view, page) {
    ctx.set({
      'Content-Security-Policy': view === 'schools' ? SCHOOLS_POLICY : POLICY,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    ctx.type = 'html';
    ctx.body = layout({ ...page, portal: view.startsWith('portal'), content: views[view](page) });
  };
}

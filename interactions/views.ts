import { readFileSync } from 'node:fs';
import { compileView } from './compile-view.ts';
import type { Render } from './compile-view.ts';
import type { LayoutData, PageData, ViewName } from './page.ts';
import { lazily } from './lazily.ts';
import { ownViews } from './own-views.ts';
import type { OwnViews } from './own-views.ts';

/** The views, compiled. */
export interface Views {
  readonly layout: (page: LayoutData) => string;
  readonly view: (page: PageData) => string;
  readonly part: (name: string, data: object) => string;
}

const NAMES: Readonly<Record<ViewName | 'layout', true>> = {
  layout: true,
  login: true,
  consent: true,
  logout: true,
  notice: true,
  confirm: true,
  'apps/list': true,
  'apps/new': true,
  'apps/created': true,
  'apps/settings': true,
  'apps/permissions': true,
  'apps/secrets': true,
  'apps/new-secret': true,
  'apps/activity': true,
  'connections/list': true,
};

/** What several views have in common. A view puts one in with `page.part('problem', { field: 'name' })`. */
const PARTS = [
  'app-name',
  'app-tabs',
  'brand',
  'choice',
  'connect',
  'copy',
  'first-party',
  'pager',
  'places',
  'problem',
  'redirect-uris',
  'sentence',
  'time',
];

/**
 * Compiles the views once: the host's own at start, so that a mistake is told then, and the bundled ones when they are first
 * shown.
 */
export function compileViews(given: string | URL | OwnViews | undefined): Views {
  const own = ownViews(given, Object.keys(NAMES));
  const bundled = [...Object.keys(NAMES), ...PARTS.map((part) => `parts/${part}`)];
  const views = new Map([
    ...bundled.map((name) => [name, toCompile(name)] as const),
    ...Array.from(own, ([name, view]) => [name, () => view] as const),
  ]);

  function render(name: string, data: object): string {
    const view = views.get(name);
    if (view) return view()(data);
    throw new TypeError(`There is no ${name}.ejs.`);
  }
  return {
    layout: (page) => render('layout', page),
    view: (page) => render(page.view, page),
    part: (name, data) => render(`parts/${name}`, data),
  };
}

/** Read at start all the same: an update of the package in place must not mix its versions in a process. */
function toCompile(name: string): () => Render {
  const file = new URL(import.meta.resolve(`#views/${name}.ejs`));
  const source = readFileSync(file, 'utf8');
  return lazily(() => compileView(source, file.pathname));
}

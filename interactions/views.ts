import { readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ejs from 'ejs';
import { ConfigError } from '../lib/errors.ts';
import { listViews, readText } from './files.ts';
import type { BundledPages } from '../lib/contracts/bundled-pages.ts';
import type { LayoutData, PageData, ViewName } from './page.ts';

/** The views, compiled. */
export interface Views {
  readonly layout: (page: LayoutData) => string;
  readonly view: (page: PageData) => string;
  readonly part: (name: string, data: object) => string;
}

/**
 * Compiles each view once: the host's own at start, so that a mistake in one fails the start, and the bundled ones at their
 * first use, which makes the start faster.
 */
export function compileViews(
  given: string | URL | OwnViews | undefined,
  features: readonly BundledPages[],
): Views {
  const bundled = namesOf(listViews());
  const ofFeatures = features.flatMap(({ views: sources }) => Object.entries(sources));
  const own = ownViews(given, [...bundled, ...ofFeatures.map(([name]) => name)].filter(isPage));
  const views = new Map([
    ...bundled.map(
      (name) => [name, compileOnFirstUse(`views/${name}.ejs`, readText(`views/${name}.ejs`))] as const,
    ),
    ...ofFeatures.map(([name, source]) => [name, compileOnFirstUse(`views/${name}.ejs`, source)] as const),
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

/**
 * A bundled view, compiled at its first use. The file is read at start nevertheless, because the package may be updated in
 * place while the process runs, and the process must not mix two versions.
 */
function compileOnFirstUse(path: string, source: string): () => RenderView {
  let view: RenderView | undefined;
  return () => (view ??= compileView(source, path));
}

const OPTION = 'interactions.views';

/** Your own views, by name. Each returns HTML and escapes the values in it: see {@link escapeHtml}. */
export type OwnViews = { readonly [V in ViewName]?: ((page: PageData<V>) => string) | undefined } & {
  /** The whole document around every view. */
  readonly layout?: ((page: LayoutData) => string) | undefined;
} & {
  /** The views of features, whose names are known at start only, when a wrong one is refused. Each says what of `page` it reads. */
  readonly [name in `${string}/${string}`]?: ((page: never) => string) | undefined;
};

/**
 * The host's own views, by name.
 *
 * @param names - of all views
 */
function ownViews(
  given: string | URL | OwnViews | undefined,
  names: readonly string[],
): ReadonlyMap<string, RenderView> {
  if (given === undefined) return new Map();
  if (typeof given === 'string' || given instanceof URL) return compileFolder(folderOf(given), names);
  if (typeof given === 'object' && given !== null) return checkFunctions(given, names);
  throw new ConfigError(OPTION, 'must be a folder, or an object with functions by the names of views.');
}

function checkFunctions(given: OwnViews, names: readonly string[]): ReadonlyMap<string, RenderView> {
  const views = Object.entries(given).filter(([, view]) => view !== undefined);
  for (const [name, view] of views) {
    if (!names.includes(name)) {
      throw new ConfigError(
        `${OPTION}.${name}`,
        `there is no such view. The views are: ${names.join(', ')}.`,
      );
    }
    if (typeof view !== 'function') {
      throw new ConfigError(`${OPTION}.${name}`, 'must be a function that returns HTML.');
    }
  }
  return new Map(views as [string, RenderView][]);
}

function folderOf(given: string | URL): string {
  if (typeof given === 'string' && isAbsolute(given)) return given;
  const url = URL.parse(String(given));
  if (url?.protocol === 'file:') return fileURLToPath(url);
  throw new ConfigError(OPTION, 'must be the absolute path, or the file: URL, of a folder.');
}

function compileFolder(folder: string, names: readonly string[]): ReadonlyMap<string, RenderView> {
  const found = listFolder(folder);
  const stray = found.find((name) => isPage(name) && !names.includes(name));
  if (stray !== undefined) {
    throw new ConfigError(
      OPTION,
      `${stray}.ejs is not the name of a view. The views are: ${names.join(', ')}. Put partials that several views include into parts/.`,
    );
  }
  if (found.length === 0) throw new ConfigError(OPTION, `there is no .ejs file in ${folder}.`);
  return new Map(found.map((name) => [name, compileFile(join(folder, `${name}.ejs`))]));
}

function listFolder(folder: string): readonly string[] {
  try {
    return namesOf(readdirSync(folder, { recursive: true, encoding: 'utf8' }));
  } catch (error) {
    throw new ConfigError(
      OPTION,
      `the folder ${folder} cannot be read. Check the path and its permissions.`,
      { cause: error },
    );
  }
}

/** The names of the views of these files, such as `apps/list`. */
function namesOf(files: readonly string[]): readonly string[] {
  return files
    .filter((file) => file.endsWith('.ejs'))
    .map((file) => file.slice(0, -'.ejs'.length).replaceAll(sep, '/'))
    .toSorted();
}

/** Whether a view is that of a page, or the layout; parts are included by several views. */
function isPage(name: string): boolean {
  return !name.startsWith('parts/');
}

function compileFile(file: string): RenderView {
  try {
    return compileView(readFileSync(file, 'utf8'), file);
  } catch (error) {
    throw new ConfigError(OPTION, `${file} cannot be read or compiled: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error);
}

/** Returns the HTML of a view or a part with its data. */
type RenderView = (data: object) => string;

/** Compiles EJS. Its data is `page`, and `<%=` escapes. */
function compileView(source: string, filename: string): RenderView {
  // Without `with`, a view sees only `page` and its own variables: a name in the data cannot shadow another variable.
  return ejs.compile(source, { _with: false, localsName: 'page', filename });
}

/** Escapes text for HTML, also between the quotes of an attribute. For views that are functions. */
export function escapeHtml(text: string): string {
  return ejs.escapeXML(text);
}

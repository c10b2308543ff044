// Builds the published package: node build.ts [folder]. The default folder is dist.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import { build } from 'esbuild';

const root = import.meta.dirname;
const folder = resolve(process.argv[2] ?? join(root, 'dist'));
const { bin, exports, imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  bin: Record<string, string>;
  exports: Record<string, string | { 'gatehouse:source': string }>;
  imports: Record<string, string | { 'gatehouse:source': string }>;
};

rmSync(folder, { recursive: true, force: true });

// Declarations, one per source file, with the docstrings that editors show. Those that no entry point leads to are for nobody.
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'lib', '--outDir', folder], {
  cwd: root,
  stdio: 'inherit',
});
const reached = new Set<string>();
for (const entry of Object.values(exports))
  if (typeof entry !== 'string') addReached(declarationOf(entry['gatehouse:source'], root));
for (const path of globSync('**/*.d.ts', { cwd: folder }))
  if (!reached.has(join(folder, path))) rmSync(join(folder, path));

// Nobody loads these without the server. Each gets an import of it, because esbuild makes a file for each set of entry points that share
// modules: a server starts with 20 files instead of 40.
const WITH_SERVER = new Set([
  'adapters/memory/index.ts',
  'interactions/index.ts',
  'lib/mcp/index.ts',
  'lib/record/metrics.ts',
  'lib/testing/index.ts',
  ...globSync('lib/features/*/{install,pages,source/open}.ts', { cwd: root }),
]);

// JavaScript, bundled to one file per entry point and the chunks that they share: a server that loads one file per source file takes
// about a sixth longer to start. The pages need it too: their views become part of the module, so that hosts can bundle the package.
await build({
  absWorkingDir: root,
  entryPoints: [
    ...Object.values({ ...exports, ...imports }).flatMap((entry) =>
      typeof entry === 'string' ? [] : entry['gatehouse:source'],
    ),
    ...Object.values(bin).map((file) => file.replace('./dist/', './').replace(/\.js$/, '.ts')),
  ],
  outdir: folder,
  outbase: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22.20',
  packages: 'external',
  // Resolved at run time by `imports` in package.json.
  external: ['#*'],
  plugins: [
    {
      name: 'contained-files',
      setup(esbuild) {
        esbuild.onLoad({ filter: /\/interactions\/files\.ts$/ }, () => ({ contents: containedFiles() }));
        esbuild.onLoad({ filter: /\/lib\/features\/[^/]+\/views\.ts$/ }, ({ path }) => ({
          contents: `export const views = ${JSON.stringify(viewsIn(join(dirname(path), 'views')))};`,
        }));
      },
    },
    {
      name: 'with-server',
      setup(esbuild) {
        const server = JSON.stringify(join(root, 'lib/index.ts'));
        esbuild.onLoad({ filter: /\.ts$/ }, ({ path }) =>
          WITH_SERVER.has(relative(root, path))
            ? { contents: `${readFileSync(path, 'utf8')}\nimport ${server};`, loader: 'ts' }
            : undefined,
        );
      },
    },
  ],
  chunkNames: 'lib/shared/[name]-[hash]',
  // First in each file, because the chunks of an entry point are evaluated before the entry point itself: an old Node gets its sentence
  // before the engine warns.
  banner: { js: "import '#runtime';" },
  logLevel: 'warning',
});

/** The declaration of a source file, by its path in a folder of the sources or of the declarations. */
function declarationOf(path: string, from: string): string {
  return join(folder, relative(root, resolve(from, path)).replace(/\.ts$/, '.d.ts'));
}

function addReached(file: string): void {
  if (reached.has(file)) return;
  reached.add(file);
  const inSources = join(root, relative(folder, dirname(file)));
  // What the compiler writes: `from './x.ts'`, `import './x.ts'` and `import("./x.ts")`.
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import)[ (]+["'](\.[^"']+)["']/g))
    addReached(declarationOf(path!, inSources));
}

/** The EJS of the views in a folder of a feature, by name. */
function viewsIn(views: string): Readonly<Record<string, string>> {
  const paths = globSync('**/*.ejs', { cwd: views }).toSorted();
  return Object.fromEntries(
    paths.map((path) => [path.slice(0, -'.ejs'.length), readFileSync(join(views, path), 'utf8')]),
  );
}

/** `interactions/files.ts` with the contents of the files: a bundle of the host has no folder to read them from. */
function containedFiles(): string {
  const paths = globSync('{views,public}/**/*.*', { cwd: join(root, 'interactions') });
  const read = (path: string) => readFileSync(join(root, 'interactions', path), 'utf8');
  const files = Object.fromEntries(paths.toSorted().map((path) => [path, read(path)]));
  return `const files = ${JSON.stringify(files)}; export const readText = (path) => files[path];
    export const listViews = () => Object.keys(files).filter((path) => path.startsWith('views/')).map((path) => path.slice(6));`;
}

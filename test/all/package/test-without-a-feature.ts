/*
 * Runs the tests that are left when a feature is removed: `node test/all/package/test-without-a-feature.ts devices`. Left are those of other
 * folders that do not name it, also not in what they import; tests of guides, examples, options and pages are of all features.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { removeFeature } from './remove-feature.ts';

const ROOT = join(import.meta.dirname, '../../..');

const OF_ALL =
  /^(bench|test\/(?:(?:all|alone|databases)\/)?(browser|docs|examples|first-call|groups|options|package|types|[^/]+\.test\.ts$))/;

/** They name features on demand only. */
const ON_DEMAND = new Set(['test/harness/platform.ts', 'test/oidc/node-process.ts']);

const [feature = '', ...files] = process.argv.slice(2);
const value = feature.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
const names = new RegExp(String.raw`(?<!['"\w./-])${value}(?=\s*[(:,}\]])|[/']${feature}/`);

const copy = mkdtempSync(join(tmpdir(), `without-${feature}-`));
process.on('exit', () => rmSync(copy, { recursive: true }));
for (const file of execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n'))
  cpSync(join(ROOT, file), join(copy, file));
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
await removeFeature(feature, copy);

const known = new Map<string, boolean>();

/** Whether a module, or one that it imports, names the feature. */
function isOfFeature(file: string): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const source = readFileSync(join(copy, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const imported = [...source.matchAll(/from '(\.[^']+)'/g)]
    .map(([, path]) => join(dirname(file), path!))
    .filter((path) => !path.startsWith('lib/') && existsSync(join(copy, path)));
  const isNamed = !ON_DEMAND.has(file) && names.test(source);
  const found = isNamed || imported.some(isOfFeature);
  known.set(file, found);
  return found;
}

const all = globSync('{bench,test}/**/*.test.ts', { cwd: copy, exclude: ['**/node_modules/**'] });
const left = all.filter((file) => !OF_ALL.test(file) && !isOfFeature(file));
for (const file of all) if (!left.includes(file)) rmSync(join(copy, file));
console.log(`${left.length} of ${all.length} files of tests are left without ${feature}`);
const { status } = spawnSync(process.execPath, ['node_modules/ava/entrypoints/cli.js', ...files], {
  cwd: copy,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;

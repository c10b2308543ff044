import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import test from 'ava';

import { copyPublished } from './package/build.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = '--conditions=gatehouse:source';

interface Manifest {
  readonly exports: Record<string, string | { 'gatehouse:source': string; types: string; default: string }>;
  readonly bin: Record<string, string>;
  readonly files: readonly string[];
  readonly scripts: Record<string, string>;
  readonly engines: { readonly node: string };
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
const entries = Object.keys(manifest.exports).filter((name) => !name.endsWith('.json'));
const specifiers = entries.map((entry) => entry.replace(/^\./, 'koa-gatehouse'));

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

async function run(
  node: string,
  words: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  return new Promise((done) => {
    const { PATH = '' } = process.env;
    const settings = { cwd: options.cwd ?? ROOT, env: { PATH, ...options.env }, timeout: 20_000 };
    const child = execFile(node, words, settings, (_error, output, errors) => {
      done({ code: child.exitCode ?? -1, output, errors });
    });
  });
}

/** Runs the code on this Node, which is made to believe that it is an older one. */
async function pretend(version: string, ...words: string[]): Promise<Ended> {
  const preload = resolve(import.meta.dirname, 'harness/old-node.ts');
  return run(process.execPath, [SOURCE, '--import', preload, ...words], { env: { PRETEND_NODE: version } });
}

function importing(specifier: string): string[] {
  return ['--input-type=module', '--eval', `import '${specifier}'; console.log('went on');`];
}

function sentence(version: string, node = process.execPath): string {
  return `koa-gatehouse needs Node.js 22.20 or newer (24 is recommended), but this process runs v${version} (${node}).\n`;
}

test('the sentence says what package.json asks for', (t) => {
  t.is(manifest.engines.node, '>=22.20');
});

test('the public entries are the ones that are tried here', (t) => {
  t.true(
    [
      'koa-gatehouse',
      'koa-gatehouse/adapters/knex',
      'koa-gatehouse/adapters/memory',
      'koa-gatehouse/interactions',
    ].every((one) => specifiers.includes(one)),
    specifiers.join(),
  );
  t.deepEqual(Object.keys(manifest.bin), ['gatehouse']);
  t.true(manifest.scripts['start']?.endsWith(' examples/server/start.js'));
});

const programs: Record<string, string[]> = {
  ...Object.fromEntries(specifiers.map((specifier) => [`import '${specifier}'`, importing(specifier)])),
  'npm start': [join(ROOT, 'examples/server/start.js'), '--json'],
  'the command line': [join(ROOT, 'lib/cli/main.ts'), 'migrate', '--database', 'sqlite:/nowhere/x.db'],
};

for (const [name, words] of Object.entries(programs)) {
  test(`an old Node gets one sentence, before anything else runs: ${name}`, async (t) => {
    const ended = await pretend('20.20.2', ...words);
    t.deepEqual(ended, { code: 1, output: '', errors: sentence('20.20.2') });
  });
}

for (const [version, isRefused] of Object.entries({
  '16.20.2': true,
  '21.99.0': true,
  '22.0.0': true,
  '22.9.0': true,
  '22.19.9': true,
  '22.20.0': false,
  '22.100.0': false,
  '23.0.0': false,
  '100.0.0': false,
})) {
  test(`${version} is ${isRefused ? 'too old' : 'new enough'}`, async (t) => {
    // What every entry imports first, by itself: it loads nothing.
    const ended = await pretend(version, ...importing('#runtime'));
    if (isRefused) t.deepEqual(ended, { code: 1, output: '', errors: sentence(version) });
    else t.like(ended, { code: 0, output: 'went on\n' });
  });
}

test('the test would see what runs', async (t) => {
  const { code, output, errors } = await pretend('22.20.0', ...importing('koa-gatehouse'));
  t.is(output, 'went on\n', errors);
  t.is(code, 0);
  t.regex(errors, /^LOADED .*node_modules\/koa\//m);
});

// The package as it is published: what `files` names, and nothing else of the repository.
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-packed-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

let built: Ended;

test.before(async () => {
  built = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'lib', '--outDir', join(folder, 'dist')]);
  copyPublished(folder);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});

test('the build finds no fault', (t) => {
  t.deepEqual(built, { code: 0, output: '', errors: '' });
});

test('every file that package.json promises is built', (t) => {
  for (const entry of Object.values(manifest.exports)) {
    if (typeof entry === 'string') continue;
    t.true(existsSync(join(folder, entry.default)), entry.default);
    t.true(existsSync(join(folder, entry.types)), entry.types);
  }
  for (const file of Object.values(manifest.bin)) {
    t.regex(readFileSync(join(folder, file), 'utf8'), /^#!\/usr\/bin\/env node\n/);
  }
});

test('the built package works without its sources', async (t) => {
  const all = specifiers.map((specifier) => `import '${specifier}';`).join(' ');
  const ended = await run(process.execPath, ['--input-type=module', '--eval', all], { cwd: folder });
  t.deepEqual(ended, { code: 0, output: '', errors: '' });
  const migrated = await run(
    process.execPath,
    [manifest.bin['gatehouse']!, 'migrate', '--database', 'sqlite:x.db'],
    {
      cwd: folder,
    },
  );
  t.is(migrated.code, 0, migrated.errors);
});

// A real one, where the machine has one: it also parses and links what the pretended one cannot refuse.
const old = [process.env['OLD_NODE'], '/usr/bin/node', '/usr/local/bin/node']
  .filter((node): node is string => node !== undefined && existsSync(node))
  .map((node) => ({ node, version: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1) }))
  .find(({ version }) => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major < 22 || (major === 22 && minor < 20);
  });

if (old) {
  const { node, version } = old;
  for (const specifier of specifiers) {
    test(`a real Node ${version} and the built package: import '${specifier}'`, async (t) => {
      const ended = await run(node, importing(specifier), { cwd: folder });
      t.deepEqual(ended, { code: 1, output: '', errors: sentence(version, node) });
    });
  }

  test(`a real Node ${version} and the built package: the command line`, async (t) => {
    const ended = await run(node, [manifest.bin['gatehouse']!, 'migrate'], { cwd: folder });
    t.deepEqual(ended, { code: 1, output: '', errors: sentence(version, node) });
  });

  test(`a real Node ${version} and npm start`, async (t) => {
    const ended = await run(node, [SOURCE, 'examples/server/start.js']);
    t.deepEqual(ended, { code: 1, output: '', errors: sentence(version, node) });
  });
} else {
  console.warn('SKIPPED without an old Node: set OLD_NODE to the path of one below 22.20, such as v20');
  test.skip('a real old Node: set OLD_NODE to the path of one below 22.20, such as v20', () => {});
}

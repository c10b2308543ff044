import { join, resolve } from 'node:path';

import test from 'ava';

import { ROOT, manifest, specifiers } from './package/manifest.ts';
import { run } from './package/run.ts';
import type { Ended } from './package/run.ts';

const SOURCE = '--conditions=gatehouse:source';

/** Runs code on this Node with the version string of another. */
async function runAs(version: string, ...words: string[]): Promise<Ended> {
  const preload = resolve(import.meta.dirname, 'harness/old-node.ts');
  return run(process.execPath, [SOURCE, '--import', preload, ...words], ROOT, { PRETEND_NODE: version });
}

function importing(specifier: string): string[] {
  return ['--input-type=module', '--eval', `import '${specifier}'; console.log('went on');`];
}

function sentence(version: string): string {
  return `koa-gatehouse needs Node.js 22.20 or newer (24 is recommended), but this process runs v${version} (${process.execPath}).\n`;
}

test('the error names the version in package.json', (t) => {
  t.is(manifest.engines.node, '>=22.20');
});

test('all public entry points are tested here', (t) => {
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
  test(`an old Node gets one sentence before any other code runs: ${name}`, async (t) => {
    const ended = await runAs('20.20.2', ...words);
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
    // The first import of every entry point, which loads nothing else.
    const ended = await runAs(version, ...importing('#runtime'));
    if (isRefused) t.deepEqual(ended, { code: 1, output: '', errors: sentence(version) });
    else t.like(ended, { code: 0, output: 'went on\n' });
  });
}

test('the test detects code that runs', async (t) => {
  const { code, output, errors } = await runAs('22.20.0', ...importing('koa-gatehouse'));
  t.is(output, 'went on\n', errors);
  t.is(code, 0);
  t.regex(errors, /^LOADED .*node_modules\/koa\//m);
});

import { join, resolve } from 'node:path';

import test from '../harness/test.ts';

import { ROOT, manifest, specifiers } from './package/manifest.ts';
import { run } from './package/run.ts';
import type { Ended } from './package/run.ts';

const SOURCE = '--conditions=gatehouse:source';

/** Runs code on this Node with the version string of another. */
async function runAs(version: string, ...words: string[]): Promise<Ended> {
  const preload = resolve(import.meta.dirname, '../harness/old-node.ts');
  return run(process.execPath, [SOURCE, '--import', preload, ...words], ROOT, { PRETEND_NODE: version });
}

function importing(specifier: string): string[] {
  return ['--input-type=module', '--eval', `import '${specifier}'; console.log('went on');`];
}

function sentence(version: string): string {
  return `koa-gatehouse needs Node.js 22.20 or newer (24 is recommended), but this process runs v${version} (${process.execPath}).\n`;
}

for (const [name, words] of [
  ...specifiers.map((specifier) => [specifier, importing(specifier)] as const),
  ['npm start', [join(ROOT, 'examples/server/start.js'), '--json']],
  ['the command line', [join(ROOT, 'lib/cli/main.ts'), 'migrate', '--database', 'sqlite:/nowhere/x.db']],
] as const) {
  test(`an old Node gets one sentence before any other code runs: ${name}`, async (t) => {
    const ended = await runAs('20.20.2', ...words);
    t.deepEqual(ended, { code: 1, output: '', errors: sentence('20.20.2') });
  });
}

test('a Node below 22.20 is too old, as package.json says', async (t) => {
  t.is(manifest.engines.node, '>=22.20');
  for (const version of ['16.20.2', '21.99.0', '22.9.0', '22.19.9']) {
    const ended = await runAs(version, ...importing('#runtime'));
    t.deepEqual(ended, { code: 1, output: '', errors: sentence(version) });
  }
  for (const version of ['22.20.0', '22.100.0', '23.0.0', '100.0.0']) {
    t.like(await runAs(version, ...importing('#runtime')), { code: 0, output: 'went on\n' });
  }
  const ended = await runAs('22.20.0', ...importing('koa-gatehouse'));
  t.like(ended, { code: 0, output: 'went on\n' });
  // What is loaded is seen, so that its absence above means something.
  t.regex(ended.errors, /^LOADED .*node_modules\/koa\//m);
});

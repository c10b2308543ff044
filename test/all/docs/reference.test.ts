import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import test from '../../harness/test.ts';

import { manifest, ROOT } from '../package/manifest.ts';
import { referenceProgram } from '../package/reference.ts';
import { run } from '../package/run.ts';

const REFERENCE = join(ROOT, 'docs/reference');

test('the API reference describes every public name, and its links have targets', async (t) => {
  const { code, output, errors } = await run(referenceProgram('typedoc'), ['--emit', 'none'], REFERENCE);
  const text = stripVTControlCharacters(output + errors);
  const problems = text.split('\n').filter((line) => /^\[(?:warning|error)\]/.test(line));
  t.deepEqual(problems, []);
  t.is(code, 0, text);
});

test('the API reference has every entry point of the package, by its import specifier', (t) => {
  const settings = readFileSync(join(REFERENCE, 'typedoc.json'), 'utf8');
  const start = readFileSync(join(REFERENCE, 'start.md'), 'utf8');
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue;
    const source = target['gatehouse:source'];
    const name = manifest.name + entry.slice(1);
    t.true(settings.includes(`"../../${source.slice(2)}"`), `typedoc.json lacks ${source}`);
    t.true(
      readFileSync(join(ROOT, source), 'utf8').includes(` * @module ${name}\n`),
      `${source} lacks its name`,
    );
    t.true(start.includes(`{@link ${name}! `), `start.md lacks ${name}`);
  }
});

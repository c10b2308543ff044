import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import test from 'ava';

import { manifest, ROOT } from '../package/manifest.ts';
import { run } from '../package/run.ts';

const REFERENCE = join(ROOT, 'docs/reference');

test('the API reference describes every public name, and its links lead somewhere', async (t) => {
  const typedoc = join(REFERENCE, 'node_modules/.bin/typedoc');
  const { code, output, errors } = await run(typedoc, ['--emit', 'none'], REFERENCE);
  const said = stripVTControlCharacters(output + errors);
  const complaints = said.split('\n').filter((line) => /^\[(?:warning|error)\]/.test(line));
  t.deepEqual(complaints, []);
  t.is(code, 0, said);
});

test('the API reference has every door of the package, under the name that it is imported by', (t) => {
  const settings = readFileSync(join(REFERENCE, 'typedoc.json'), 'utf8');
  const start = readFileSync(join(REFERENCE, 'start.md'), 'utf8');
  for (const [entry, door] of Object.entries(manifest.exports)) {
    if (typeof door === 'string') continue;
    const source = door['gatehouse:source'];
    const name = manifest.name + entry.slice(1);
    t.true(settings.includes(`"../../${source.slice(2)}"`), `typedoc.json lacks ${source}`);
    t.true(
      readFileSync(join(ROOT, source), 'utf8').includes(` * @module ${name}\n`),
      `${source} lacks its name`,
    );
    t.true(start.includes(`{@link ${name}! `), `start.md lacks ${name}`);
  }
});

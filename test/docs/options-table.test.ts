import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import test from 'ava';

import { authServerOptions } from '../../lib/options/options.ts';
import { GROUPS } from './documented.ts';
import { ROOT } from './guides.ts';
import { optionsTable } from './options-table.ts';

const page = readFileSync(join(ROOT, 'docs/options.md'), 'utf8');

test('the page of the options is that of the declarations', (t) => {
  t.is(page, optionsTable(), 'look at what has changed, then: npm run options');
});

test('the page has every option of the server and of its groups', (t) => {
  const declared = authServerOptions();
  for (const name of Object.keys(declared)) t.true(page.includes(`**\`${name}\`**`), name);
  for (const [group] of GROUPS) {
    const { members } = declared[group].check as unknown as { members: object };
    for (const name of Object.keys(members)) t.true(page.includes(`**\`${group}.${name}\`**`), name);
  }
});

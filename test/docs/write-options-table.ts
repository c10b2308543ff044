/** Writes `docs/options.md`, and the tables of numbers in the guides: `npm run options`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { GUIDES, ROOT } from './guides.ts';
import { withLimitTables } from './limit-tables.ts';
import { optionsTable } from './options-table.ts';

writeFileSync(join(ROOT, 'docs/options.md'), optionsTable());
for (const guide of GUIDES) {
  const file = join(ROOT, guide);
  const text = readFileSync(file, 'utf8');
  const made = withLimitTables(text);
  if (made !== text) writeFileSync(file, made);
}

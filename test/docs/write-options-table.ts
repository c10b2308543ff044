/** Writes `docs/options.md`: `npm run options`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './guides.ts';
import { optionsTable } from './options-table.ts';

writeFileSync(join(ROOT, 'docs/options.md'), optionsTable());

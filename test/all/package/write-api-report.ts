/** Writes `test/api-report.md`: `npm run api-report`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { apiReport } from './api-report.ts';
import { build } from './build.ts';
import { ROOT } from './manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-api-'));
try {
  await build(folder);
  writeFileSync(join(ROOT, 'test/api-report.md'), apiReport(folder));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

import { join } from 'node:path';

import test from '../../harness/test.ts';

import { ROOT } from './manifest.ts';
import { run } from './run.ts';

test('every file, export and dependency is used, and every import is a dependency', async (t) => {
  const { code, output } = await run(join(ROOT, 'node_modules/.bin/knip'), ['--no-progress'], ROOT);
  t.is(code, 0, output);
});

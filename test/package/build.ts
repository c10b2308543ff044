import { join } from 'node:path';

import { ROOT } from './manifest.ts';
import { run } from './run.ts';

/** Builds the package, as `npm run build` does, but into a folder of its own: `dist` in the checkout is left alone. */
export async function build(folder: string): Promise<void> {
  const words = ['-p', 'lib', '--outDir', join(folder, 'dist')];
  const { code, errors, output } = await run(join(ROOT, 'node_modules/.bin/tsc'), words, ROOT);
  if (code !== 0) throw new Error(`The package does not compile: ${output}${errors}`);
}

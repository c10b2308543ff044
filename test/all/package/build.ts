import { cpSync, globSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ROOT, manifest } from './manifest.ts';
import { run } from './run.ts';

/** Builds the package like `npm run build`, but into another folder: `dist` in the checkout does not change. */
export async function build(folder: string): Promise<void> {
  const words = [join(ROOT, 'build.ts'), join(folder, 'dist')];
  const { code, errors, output } = await run(process.execPath, words, ROOT);
  if (code !== 0) throw new Error(`The package does not compile: ${output}${errors}`);
}

/** Copies the other published files next to the build. */
export function copyPublished(folder: string): void {
  const others = globSync(
    manifest.files.filter((name) => name !== 'dist'),
    { cwd: ROOT },
  );
  for (const name of ['package.json', 'README.md', 'LICENSE', ...others]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
}

import { cpSync, globSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ROOT, manifest } from './manifest.ts';
import { run } from './run.ts';

/** Builds the package, as `npm run build` does, but into a folder of its own: `dist` in the checkout is left alone. */
export async function build(folder: string): Promise<void> {
  const words = [join(ROOT, 'build.ts'), join(folder, 'dist')];
  const { code, errors, output } = await run(process.execPath, words, ROOT);
  if (code !== 0) throw new Error(`The package does not compile: ${output}${errors}`);
}

/** Puts beside the build what else is published, and nothing else of the repository. */
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

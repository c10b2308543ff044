import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './manifest.ts';

/** A program of `docs/reference`, whose packages are installed there: they need a TypeScript that the project does not have. */
export function referenceProgram(name: 'openapi-typescript' | 'tsc' | 'typedoc'): string {
  const path = join(ROOT, 'docs/reference/node_modules/.bin', name);
  if (!existsSync(path)) throw new Error(`${path} is missing: npm run reference:install`);
  return path;
}

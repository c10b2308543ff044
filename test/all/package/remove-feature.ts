import { globSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** The folders of the features. */
export const FEATURES: readonly string[] = globSync('lib/features/*/', {
  cwd: join(import.meta.dirname, '../../..'),
}).map((path) => basename(path));

/** The lists of what ships: nothing else outside of its folder names a feature. */
const LISTS = ['lib/index.ts', 'lib/types.ts', 'lib/features/shipped.ts', 'lib/features/tables.ts'];

/** Removes the folder of a feature from a copy of the package, and its lines from the lists of what ships. @returns their number */
export async function removeFeature(feature: string, copy: string): Promise<number> {
  await rm(join(copy, 'lib/features', feature), { recursive: true });
  let lines = 0;
  for (const list of LISTS) {
    const { changed, text } = without(feature, await readFile(join(copy, list), 'utf8'));
    await writeFile(join(copy, list), text);
    lines += changed;
  }
  return lines;
}

/** A list without the folder of a feature, and the number of its lines that have changed. */
function without(feature: string, source: string): { readonly text: string; readonly changed: number } {
  const names: string[] = [];
  const ofFolder = new RegExp(
    String.raw`^(?:import|export)[^;=]*from '\./(?:features/)?${feature}/[^;]*;\n`,
    'gm',
  );
  let text = source.replace(ofFolder, (statement) => {
    if (statement.startsWith('import')) names.push(...(/\{([^}]*)\}/.exec(statement)?.[1] ?? '').split(','));
    return '';
  });
  text = text.replace(new RegExp(String.raw`^.*import\('\./${feature}/.*\n`, 'gm'), '');
  for (const name of names.map((one) => one.trim()).filter((one) => one !== ''))
    text = text
      .replace(new RegExp(String.raw`^ *(?:\.\.\.)?${name}(?:\(\))?,\n`, 'gm'), '')
      .replace(new RegExp(String.raw`(?:, )?(?:\.\.\.)?\b${name}\b(?:\(\))?`, 'g'), '')
      .replaceAll(/(?<=[[{]) ?, /g, ' ');
  const kept = text.split('\n');
  const changed = source.split('\n').filter((line) => {
    const index = kept.indexOf(line);
    if (index >= 0) kept.splice(index, 1);
    return index < 0;
  }).length;
  return { text, changed };
}

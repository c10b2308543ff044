// Long: it compiles the package without each feature.
import { execFile } from 'node:child_process';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from 'ava';

import { temporaryFile } from '../adapters/temporary-file.ts';

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, '../..');

/** The lists of what ships: nothing else outside of its folder names a feature. */
const LISTS = ['lib/index.ts', 'lib/features/shipped.ts', 'lib/features/tables.ts'];

const MOST_LINES = 17;

const FEATURES = ['agents', 'devices', 'openid', 'personal-tokens'] as const;

const START = `
import { createAuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

const auth = await createAuthServer({
  issuer: 'http://localhost:3000',
  users: { find: async () => undefined, permissions: () => [], authenticate: async () => undefined },
  storage: memoryStorage(),
});
await auth.prune();
await auth.close();
console.log('started');
`;

/** What a program prints, whether it fails or not. */
async function outputOf(program: string, given: readonly string[], cwd: string): Promise<string> {
  const { stderr, stdout } = await run(program, given, { cwd }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return stdout + stderr;
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

for (const feature of FEATURES)
  test.serial(
    `without its folder and lines in the lists of what ships, the package compiles and starts: ${feature}`,
    async (t) => {
      const copy = temporaryFile(feature);
      for (const part of ['lib', 'adapters', 'interactions', 'package.json', 'tsconfig.json'])
        await cp(join(ROOT, part), join(copy, part), { recursive: true });
      await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      await rm(join(copy, 'lib/features', feature), { recursive: true });
      const changes = new Map<string, number>();
      for (const list of LISTS) {
        const { changed, text } = without(feature, await readFile(join(copy, list), 'utf8'));
        if (changed > 0) changes.set(list, changed);
        await writeFile(join(copy, list), text);
      }
      const lines = [...changes.values()].reduce((sum, count) => sum + count, 0);
      t.true(lines <= MOST_LINES, `${lines} lines`);

      const compiled = await outputOf(
        join(ROOT, 'node_modules/.bin/tsc'),
        ['-p', 'lib', '--noEmit', '--emitDeclarationOnly', 'false'],
        copy,
      );
      t.is(compiled, '');
      await writeFile(join(copy, 'start.ts'), START);
      t.regex(
        await outputOf(process.execPath, ['--conditions=gatehouse:source', 'start.ts'], copy),
        /^started$/m,
      );
    },
  );

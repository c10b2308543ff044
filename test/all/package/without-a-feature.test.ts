import { execFile } from 'node:child_process';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';

import { temporaryFile } from '../../adapters/temporary-file.ts';
import { FEATURES, removeFeature } from './remove-feature.ts';

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, '../../..');

const MOST_LINES = 17;

const START = `
import { createAuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

const auth = await createAuthServer({
  issuer: 'http://localhost:3000',
  users: { find: async () => undefined, permissions: () => [], verifyPassword: async () => undefined },
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

for (const feature of FEATURES)
  test.serial(
    `without its folder and lines in the lists of what ships, the package compiles and starts: ${feature}`,
    async (t) => {
      const copy = temporaryFile(feature);
      for (const part of ['lib', 'adapters', 'interactions', 'package.json', 'tsconfig.json'])
        await cp(join(ROOT, part), join(copy, part), { recursive: true });
      await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      const lines = await removeFeature(feature, copy);
      t.true(lines <= MOST_LINES, `${lines} lines`);

      const compiled = await outputOf(
        join(ROOT, 'node_modules/.bin/tsc'),
        // Its threads would each check what is shared again, while other tests need the processors.
        ['-p', 'lib', '--noEmit', '--emitDeclarationOnly', 'false', '--singleThreaded'],
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

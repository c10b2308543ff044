// The tests of `npm test` need nothing but Node: whoever starts a program belongs to `test/all`.
import childProcess from 'node:child_process';
import { writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']) {
  Reflect.set(childProcess, name, (/** @type {unknown} */ program) => {
    const mistake = `${String(program)} was started: move the test to test/all`;
    // ava says nothing of an error while files are loaded.
    writeSync(2, `${mistake}\n`);
    throw new Error(mistake);
  });
}
syncBuiltinESMExports();

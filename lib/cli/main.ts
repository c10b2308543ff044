#!/usr/bin/env node
import '#runtime';

import module from 'node:module';

// A command begins in half the time when Node need not compile everything again.
module.enableCompileCache();

for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);

const { run } = await import('./program.ts');
const code = await run(process.argv.slice(2));
// Whatever a gate file has opened must not keep the process alive; what was printed must get out before.
process.stdout.write('', () => process.exit(code));

/** Such as `gatehouse client list | head`: what was begun goes on, and nobody is told. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

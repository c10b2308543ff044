#!/usr/bin/env node
import '#runtime';

import module from 'node:module';

// With the cache, Node need not compile every file again, and a command starts in half the time.
module.enableCompileCache();

for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);

const { run } = await import('./program.ts');
const code = await run(process.argv.slice(2));
// A gate file may have opened connections that keep the process alive, so it is ended explicitly, after stdout is flushed.
process.stdout.write('', () => process.exit(code));

/** Ignores the error of a closed pipe, as in `gatehouse client list | head`, so that the command completes. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

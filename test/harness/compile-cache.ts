import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Goes into the environment of a process that a test starts: compiling is most of what starting one takes. */
export const compileCache: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache'),
};

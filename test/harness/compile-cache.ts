import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Environment variables for a process that a test starts. Compiling takes most of the time of its start. */
export const compileCache: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache'),
};

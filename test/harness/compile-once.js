// Loaded first in every process of ava: what was compiled by one of them, types stripped, is read by all others. In
// JavaScript, because stripping its types would take more than it saves. Threads that a test starts compile by
// themselves: a cache that several threads of a process share has crashed Node.
import { enableCompileCache } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) enableCompileCache();
// ava asks for source maps: Node would look for one in every file that it loads, and types are stripped without.
process.setSourceMapsEnabled(false);

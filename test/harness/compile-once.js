// Loaded first in every process of ava: a module that one process has compiled, with its types stripped, is read from the cache
// by the others. It is JavaScript, because stripping types would take longer than it saves. Threads that a test starts do not
// use the cache: Node has crashed with a cache that several threads of a process share.
import { enableCompileCache } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) enableCompileCache();
// ava enables source maps, for which Node would search every file that it loads. Stripping types needs none.
process.setSourceMapsEnabled(false);

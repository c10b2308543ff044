// Plain JavaScript: an old Node must be able to read this far and say what is missing, instead of a syntax error in a
// TypeScript file or a crash in a native module.
import '#runtime';

import module from 'node:module';
import { fileURLToPath } from 'node:url';

// What one start has compiled, its types stripped, the next one reads. Not from the system's folder for temporary files, which others
// may write.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url)));

await import('./main.ts');

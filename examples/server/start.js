// JavaScript, so that an old Node version prints that it is too old, instead of a syntax error in a TypeScript file or a crash
// in a native module.
import '#runtime';

await import('./main.ts');

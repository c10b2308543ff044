// Plain JavaScript: an old Node must be able to read this far and say what is missing, instead of a syntax error in a
// TypeScript file or a crash in a native module.
import '#runtime';

await import('./main.ts');

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT: string = resolve(import.meta.dirname, '../..');

/** The README and the guides, by path from the root of the repository. */
export const GUIDES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** A block of code in a guide. */
export interface Block {
  /** The number of the line where it begins. */
  readonly line: number;
  readonly code: string;
}

/** The name in the first line of a block that readers save as a file, such as `// app.ts`. */
export function fileName(code: string): string | undefined {
  return /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1];
}

/** The blocks of a guide in a language, such as `ts`. */
export function blocksOf(guide: string, language: string): Block[] {
  const text = readFileSync(join(ROOT, guide), 'utf8');
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map(({ 1: code = '', index }) => ({
    line: text.slice(0, index).split('\n').length,
    code,
  }));
}

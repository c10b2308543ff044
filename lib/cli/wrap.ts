import { Help } from 'commander';

import { printable } from './display-width.ts';

const help = new Help();

/**
 * Breaks a text into lines that fit the terminal, all but the first one indented.
 *
 * @param first - what the text begins with, as wide as the indentation
 */
export function wrap(first: string, text: string): string {
  const columns = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const lines = help.boxWrap(printable(text), columns - first.length).split('\n');
  return first + lines.join(`\n${' '.repeat(first.length)}`);
}

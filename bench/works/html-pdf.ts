import type { ContestantName } from '../contestants.ts';
import type { Work } from './work.ts';

const CONTESTANTS: readonly ContestantName[] = ['html-pdf-plain', 'html-pdf'];

const print: Pick<Work, 'contestants' | 'prepare'> = {
  contestants: CONTESTANTS,
  prepare: async (client) => ({ run: async () => client.letter() }),
};

/** A letter becomes a PDF, for so many that ask at once. */
function letters(connections: number): Work {
  return {
    ...print,
    name: `html-pdf-${connections}`,
    about: `a letter of one page becomes a PDF, ${connections} at once`,
    connections,
    // The first letters start the browser.
    warmUp: 40,
  };
}

export const htmlPdf: readonly Work[] = [
  letters(1),
  letters(4),
  letters(16),
  {
    ...print,
    name: 'html-pdf-memory',
    about: 'a thousand letters of one page, for the memory of the server and its browser after each 50',
    connections: 2,
    warmUp: 40,
    fixed: { rounds: 20, operations: 50 },
  },
];

/** A part of a sentence: the page's own words, or a name that a user, a developer or the host has chosen. */
export interface SentencePart {
  readonly text: string;
  readonly isName: boolean;
}

/** A sentence with names in it. Views isolate each name (`<bdi>`), so that its direction cannot reorder the words around it. */
export type Sentence = readonly SentencePart[];

/** The placeholders that a sentence can have. */
export type Names = Readonly<
  Partial<
    Record<
      'client' | 'user' | 'brand' | 'label' | 'hint' | 'number' | 'problem' | 'most' | 'name' | 'count',
      string
    >
  >
>;

/** Fills the placeholders of a text with names, as in `sentence('Authorize {client}', { client: 'Reports' })`. */
export function sentence(text: string, names: Names = {}): Sentence {
  const filled = new Map(Object.entries(names));
  return text
    .split(/(\{\w+\})/)
    .map((part) => {
      const name = filled.get(part.slice(1, -1));
      if (name === undefined || !part.startsWith('{')) return { text: part, isName: false };
      return { text: printable(name), isName: !OWN_WORDS.has(part) };
    })
    .filter(({ text: part }) => part !== '');
}

// Placeholders whose values need no isolation: the brand, and numbers.
const OWN_WORDS: ReadonlySet<string> = new Set(['{brand}', '{count}', '{most}', '{number}']);

/** The sentence as plain text, for the title. */
export function plain(parts: Sentence): string {
  return parts.map(({ text }) => text).join('');
}

/** Removes control characters and bidirectional controls, which would hide or reverse the text around them. */
export function printable(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '');
}

import { ConfigError } from '../lib/errors.ts';
import { en } from './text/en.ts';

/** The name of a sentence on a page, such as `login.heading`. */
export type TextKey = keyof typeof en;

/** Every sentence that the pages say. `{client}`, `{brand}` and `{user}` stand for names. */
export type Texts = Readonly<Record<TextKey, string>>;

/** A language that the pages speak. */
export type Language = 'en';

const languages: Readonly<Record<Language, Texts>> = { en };

/** Picks a language and puts the host's own sentences in place of the bundled ones. */
export function resolveTexts(language: Language, own: Partial<Texts>): Texts {
  if (!Object.hasOwn(languages, language)) {
    throw new ConfigError(
      'interactions.language',
      `"${language}" is not one of ${Object.keys(languages).join(', ')}. Use one of them and put your sentences into \`text\`.`,
    );
  }
  const bundled = languages[language];
  for (const [key, sentence] of Object.entries(own)) checkSentence(bundled, key, sentence);
  return Object.freeze({ ...bundled, ...own });
}

function checkSentence(bundled: Readonly<Record<string, string>>, key: string, sentence: unknown): void {
  const option = `interactions.text.${key}`;
  const original = Object.hasOwn(bundled, key) ? bundled[key] : undefined;
  if (original === undefined) {
    throw new ConfigError(option, 'there is no such sentence on the pages. Check its spelling.');
  }
  if (typeof sentence !== 'string' || sentence.trim() === '') {
    throw new ConfigError(option, 'must be a sentence.');
  }
  if (placeholders(sentence) !== placeholders(original)) {
    throw new ConfigError(
      option,
      `must have the placeholders of "${original}", which are: ${placeholders(original) || 'none'}.`,
    );
  }
}

function placeholders(sentence: string): string {
  return [...new Set(sentence.match(/\{\w+\}/g))].toSorted().join(', ');
}

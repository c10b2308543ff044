import { ConfigError } from '../lib/errors.ts';
import { de } from './text/de.ts';
import { en } from './text/en.ts';

/**
 * The name of a sentence on a page, such as `login.heading`. What each says is in `page.text` of a view, and in
 * `interactions/text` of the package's sources.
 *
 * @useDeclaredType
 */
export type TextKey = keyof typeof en;

/** The name of what is yours, such as `scope.schools:read` or `permission.view_schools`. */
export type NameKey = `${'scope' | 'permission' | 'role'}.${string}`;

/** Every sentence that the pages say. `{client}`, `{brand}` and their like stand for names. */
export type Texts = Readonly<Record<TextKey, string>> & { readonly [name in NameKey]?: string };

/** A language that the pages are in. */
export type Language = 'en' | 'de';

/** Your own sentences: of the one language, or by language. */
export type OwnTexts = Partial<Texts> | TextsByLanguage;

/** Your own sentences, by language. */
export type TextsByLanguage = { readonly [L in Language]?: Partial<Texts> };

const bundled: Readonly<Record<Language, Texts>> = { en, de };

/** Checks which languages the pages are in. The first is for people who prefer none of them. */
export function resolveLanguages(
  given: Language | readonly Language[] = 'en',
): readonly [Language, ...Language[]] {
  const [first, ...others] = new Set(typeof given === 'string' ? [given] : given);
  if (first === undefined) throw new ConfigError('interactions.language', 'give at least one.');
  const wrong = [first, ...others].find((language) => !isLanguage(language));
  if (wrong === undefined) return [first, ...others];
  throw new ConfigError(
    'interactions.language',
    `"${String(wrong)}" is not one of ${Object.keys(bundled).join(', ')}. Use one of them and put your own texts into \`text\`.`,
  );
}

/** Puts the host's own sentences in place of the bundled ones. */
export function resolveTexts(spoken: readonly Language[], own: OwnTexts = {}): ReadonlyMap<Language, Texts> {
  const byLanguage = sortByLanguage(spoken, own);
  return new Map(
    spoken.map((language) => {
      const given = Object.entries(byLanguage[language] ?? {});
      const option = byLanguage === own ? `interactions.text.${language}` : 'interactions.text';
      for (const [key, sentence] of given) checkSentence(language, option, key, sentence);
      return [language, Object.freeze({ ...bundled[language], ...Object.fromEntries(given) })];
    }),
  );
}

function sortByLanguage(spoken: readonly Language[], own: OwnTexts): TextsByLanguage {
  const keys = Object.keys(own);
  if (!keys.some(isLanguage)) {
    if (spoken.length === 1 || keys.length === 0) return { [spoken[0]!]: own };
    throw new ConfigError(
      'interactions.text',
      `the pages are in ${spoken.join(' and ')}: give the texts by language, as in { ${spoken[0]}: { … } }.`,
    );
  }
  const stray = keys.find((key) => !spoken.some((language) => language === key));
  if (stray === undefined) return own as TextsByLanguage;
  throw new ConfigError(
    `interactions.text.${stray}`,
    `the pages are in ${spoken.join(' and ')}. Add the language to \`language\`, or leave this out.`,
  );
}

/** Whether there is such a sentence. */
export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(en, key);
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(bundled, name);
}

function checkSentence(language: Language, option: string, key: string, sentence: unknown): void {
  const original = isTextKey(key) ? bundled[language][key] : undefined;
  if (original === undefined && !/^(?:scope|permission|role)\../.test(key)) {
    throw new ConfigError(`${option}.${key}`, 'the pages have no text with this name. Check its spelling.');
  }
  if (typeof sentence !== 'string' || sentence.trim() === '') {
    throw new ConfigError(`${option}.${key}`, 'must be a text that is not empty.');
  }
  if (original !== undefined && placeholders(sentence) !== placeholders(original)) {
    throw new ConfigError(
      `${option}.${key}`,
      `must have the placeholders of "${original}", which are: ${placeholders(original) || 'none'}.`,
    );
  }
}

/** The names that stand for something in a sentence, in order. */
export function placeholders(sentence: string): string {
  return [...new Set(sentence.match(/\{\w+\}/g))].toSorted().join(', ');
}

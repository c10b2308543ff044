import { ConfigError } from '../lib/errors.ts';
import { textsOfKinds } from '../lib/contracts/client-kinds.ts';
import { textsOfSources } from '../lib/contracts/client-sources.ts';
import type { FlowParts } from '../lib/contracts/bundled-pages.ts';
import type { Check } from '../lib/options/declare.ts';
import { de } from './text/de.ts';
import { en } from './text/en.ts';

/**
 * The name of a sentence on a page, such as `login.heading`. The sentences are in `interactions/text` of the package's sources,
 * and in `page.text` of a view.
 *
 * @useDeclaredType
 */
export type TextKey = keyof typeof en;

/**
 * The name of a label of your scopes, permissions and roles, and of a kind of clients, such as `scope.schools:read` or `permission.view_schools`. For a scope
 * of an API besides the default, the URL of the API and a space are in front of the scope's name.
 */
export type NameKey = `${'scope' | 'permission' | 'role' | 'kind' | 'source'}.${string}`;

/** Every sentence of the pages. `{client}`, `{brand}` and the like are placeholders for names. */
export type Texts = Readonly<Record<TextKey, string>> & { readonly [name in NameKey]?: string };

/** A language of the bundled texts. */
export type Language = 'en' | 'de';

/** Your own sentences: of the only language, or by language. */
export type OwnTexts = TextsOfOne | TextsByLanguage;

/** Those of one language. The names of the texts of features are known at start only, when a wrong one is refused. */
export type TextsOfOne = Partial<Texts> & { readonly [name in `${string}.${string}`]?: string };

/** Your own sentences, by language. */
export type TextsByLanguage = { readonly [L in Language]?: TextsOfOne };

const bundled: Readonly<Record<Language, Texts>> = { en, de };

/** The first one is used when the user prefers none of them. */
export const languages: Check<Language | readonly Language[], readonly [Language, ...Language[]]> = (
  place,
  given,
) => {
  if (typeof given !== 'string' && !Array.isArray(given)) {
    throw new ConfigError(place, "give 'en' or 'de', or several in an array.");
  }
  const [first, ...others] = new Set(typeof given === 'string' ? [given] : given);
  if (first === undefined) throw new ConfigError(place, 'give at least one.');
  const wrong = [first, ...others].find((language) => !isLanguage(language));
  if (wrong === undefined) return [first, ...others];
  throw new ConfigError(
    place,
    `"${String(wrong)}" is not one of ${Object.keys(bundled).join(', ')}. Use one of them and put your own texts into \`text\`.`,
  );
};

/**
 * The bundled sentences of each language, replaced by the host's own where there are any.
 *
 * @param flow - what the texts are about besides the core. Empty: not known yet
 */
export function resolveTexts(
  supported: readonly Language[],
  own: OwnTexts,
  {
    clientKinds,
    clientSources,
    features,
  }: Partial<Pick<FlowParts, 'clientKinds' | 'clientSources' | 'features'>>,
): ReadonlyMap<Language, Texts> {
  const byLanguage = sortByLanguage(supported, checkTexts('interactions.text', own));
  return new Map(
    supported.map((language) => {
      const option = byLanguage === own ? `interactions.text.${language}` : 'interactions.text';
      const { [language]: ofLanguage = {} } = byLanguage;
      const given = Object.entries(checkTexts(option, ofLanguage));
      const original: Texts = Object.assign(
        {},
        bundled[language],
        textsOfKinds(clientKinds?.all.values() ?? [], language),
        textsOfSources(clientSources?.all.values() ?? [], language),
        ...(features ?? []).map(({ texts }) => texts[language]),
      );
      for (const [key, sentence] of given) {
        // The names of the texts of features are known when the server is made.
        if (features || key in original) checkSentence(original, option, key, sentence);
      }
      return [language, Object.freeze({ ...original, ...Object.fromEntries(given) })];
    }),
  );
}

function sortByLanguage(supported: readonly Language[], own: OwnTexts): TextsByLanguage {
  const keys = Object.keys(own);
  if (!keys.some(isLanguage)) {
    if (supported.length === 1 || keys.length === 0) return { [supported[0]!]: own };
    throw new ConfigError(
      'interactions.text',
      `the pages are in ${supported.join(' and ')}: give the texts by language, as in { ${supported[0]}: { … } }.`,
    );
  }
  const stray = keys.find((key) => !supported.some((language) => language === key));
  if (stray === undefined) return own as TextsByLanguage;
  throw new ConfigError(
    `interactions.text.${stray}`,
    `the pages are in ${supported.join(' and ')}. Add the language to \`language\`, or leave this out.`,
  );
}

function checkTexts<T extends object>(option: string, texts: T): T {
  if (typeof texts === 'object' && texts !== null && !Array.isArray(texts)) return texts;
  throw new ConfigError(option, "give an object with texts by name, such as { 'login.heading': 'Sign in' }.");
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(bundled, name);
}

function checkSentence(texts: Texts, option: string, key: string, sentence: unknown): void {
  const original = Object.hasOwn(texts, key) ? texts[key as TextKey] : undefined;
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

/** The placeholders of a sentence, sorted. */
export function placeholders(sentence: string): string {
  return [...new Set(sentence.match(/\{\w+\}/g))].toSorted().join(', ');
}

import { lazily } from './lazily.ts';
import { sentence } from './sentence.ts';
import type { Names, Sentence } from './sentence.ts';
import type { Language, TextKey, Texts } from './text.ts';

/** A sentence that says how many: it is in the table once per form, such as `connections.lead.one` and `.other`. */
export type PluralKey = {
  [K in TextKey]: K extends `${infer Name}.other` ? CountedKey<Name> : never;
}[TextKey];

// `apps.problem.other` is no form of anything.
type CountedKey<Name extends string> = `${Name}.one` extends TextKey ? Name : never;

/** Says how many of something there are, in the form that the number asks for. `{count}` is the number. */
export type Count = (key: PluralKey, count: number, names?: Names) => Sentence;

export function countIn(language: Language, text: Texts): Count {
  const rules = lazily(() => new Intl.PluralRules(language));
  const digits = lazily(() => new Intl.NumberFormat(language));
  return (key, count, names = {}) => {
    const form = rules().select(count) === 'one' ? 'one' : 'other';
    return sentence(text[`${key}.${form}`], { ...names, count: digits().format(count) });
  };
}

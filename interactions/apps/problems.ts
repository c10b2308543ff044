import type { FieldError } from '../../lib/errors.ts';
import type { Problem } from '../page.ts';
import { plain, sentence } from '../sentence.ts';
import { isTextKey } from '../text.ts';
import type { Texts } from '../text.ts';

/** What a person has to mend, in the words of the page. What it has none for is told in the registry's. */
export function problemsOf(errors: readonly FieldError[], text: Texts): readonly Problem[] {
  const problems = errors.map((error): Problem => {
    const words = wordsOf(error, text);
    const number = /^redirectUris\[(\d+)\]$/.exec(error.field)?.[1];
    if (number !== undefined) {
      const names = { number: String(Number(number) + 1), problem: words };
      return { field: 'redirectUris', message: plain(sentence(text['apps.problem.redirectUri'], names)) };
    }
    return { message: words, ...(WITH_A_PLACE.has(error.field) ? { field: error.field } : {}) };
  });
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

function wordsOf({ code, message, parameters = {} }: FieldError, text: Texts): string {
  const key = `apps.problem.${code}`;
  if (!isTextKey(key)) return plain(sentence(text['apps.problem.other'], { problem: message }));
  const names = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  return plain(sentence(text[key], Object.fromEntries(names)));
}

/** The fields that a form can point at. */
const WITH_A_PLACE: ReadonlySet<string> = new Set(['name', 'grantType', 'redirectUris', 'label']);

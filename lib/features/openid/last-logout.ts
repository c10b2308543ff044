import type { PageRequest } from '../../../interactions/page-request.ts';
import { sentence } from '../../../interactions/sentence.ts';
import type { Sentence } from '../../../interactions/sentence.ts';
import type { OpenIdText } from './texts.ts';
import type { LastLogout } from './types.ts';

/**
 * How an app was told of a logout, such as "Told of your logout on 3 May 2026, 10:00 UTC".
 *
 * @param reader - the user who was signed out, or a developer of the app
 */
export function describeLogout(
  lastLogout: LastLogout,
  reader: 'user' | 'developer',
  { clock, text }: Pick<PageRequest<OpenIdText>, 'clock' | 'text'>,
): Sentence {
  const { answeredAt, createdAt, error = '' } = lastLogout;
  const state = stateOf(lastLogout);
  const at = state === 'told' ? (answeredAt ?? createdAt) : createdAt;
  return sentence(text[`lastLogout.${reader}.${state}`], {
    label: clock.minute(at).words,
    problem: error && sentenceOf(error, text),
  });
}

function stateOf({ dueAt, error }: LastLogout): 'told' | 'failed' | 'due' | 'again' {
  if (dueAt === undefined) return error === undefined ? 'told' : 'failed';
  return error === undefined ? 'due' : 'again';
}

/** @param error - such as `timeout`, or `status 500` */
function sentenceOf(error: string, text: PageRequest<OpenIdText>['text']): string {
  const [, status] = /^status (\d+)$/.exec(error) ?? [];
  if (status !== undefined) return text['lastLogout.problem.status'].replace('{number}', status);
  return text[PROBLEMS.get(error) ?? 'lastLogout.problem.unreachable'];
}

const PROBLEMS: ReadonlyMap<string, OpenIdText> = new Map<string, OpenIdText>([
  ['timeout', 'lastLogout.problem.timeout'],
  ['no_uri', 'lastLogout.problem.noUri'],
]);

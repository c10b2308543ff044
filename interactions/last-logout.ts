import type { LastLogout } from '../lib/contracts/index.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { TextKey } from './text.ts';

/**
 * How an app was told of a logout, such as "Told of your logout on 3 May 2026, 10:00 UTC".
 *
 * @param reader - the user who was signed out, or a developer of the app
 */
export function describeLogout(
  lastLogout: LastLogout,
  reader: 'user' | 'developer',
  { clock, text }: Pick<PageRequest, 'clock' | 'text'>,
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
function sentenceOf(error: string, text: PageRequest['text']): string {
  const [, status] = /^status (\d+)$/.exec(error) ?? [];
  if (status !== undefined) return text['lastLogout.problem.status'].replace('{number}', status);
  return text[PROBLEMS.get(error) ?? 'lastLogout.problem.unreachable'];
}

const PROBLEMS: ReadonlyMap<string, TextKey> = new Map<string, TextKey>([
  ['timeout', 'lastLogout.problem.timeout'],
  ['no_uri', 'lastLogout.problem.noUri'],
]);

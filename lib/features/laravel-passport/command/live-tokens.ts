import type { LaravelPassportSource, PassportTokenCount } from '../types.ts';

import { toDate } from '../../../contracts/duration.ts';
import { ConfigError, StorageError } from '../../../errors.ts';
import { wrap } from '../../../cli/table.ts';
import { formatCount } from '../../../cli/terminal.ts';

/** The kinds of tokens, in the order of lists. */
export const KINDS = {
  user: 'access tokens of users',
  personal: 'personal access tokens',
  client: 'access tokens of clients',
  refresh: 'refresh tokens',
} as const satisfies Record<PassportTokenCount['kind'], string>;

/** The live tokens as `--json` prints them. */
export interface LiveTokens {
  /** The number of each kind that the feature would accept. */
  readonly accepted: Readonly<Record<PassportTokenCount['kind'], number>>;
  /** When the last accepted token ends; `null` when there is none. */
  readonly last_end: string | null;
  readonly refused: readonly { readonly reason: string; readonly count: number }[];
  /** The scopes that live tokens name and that the gate file does not define. */
  readonly undefined_scopes: readonly string[];
}

/**
 * Counts the live tokens of Passport that the feature would accept, and the others by the reason.
 *
 * @param refusals - why the tokens of a client are refused, by its id; `undefined` when they are accepted
 * @param scopes - the scopes of the gate file; by default, no scope is known to be defined
 * @returns the counts, or the reason why the tokens cannot be counted, as a text
 */
export async function countLiveTokens(
  source: Pick<LaravelPassportSource, 'countTokens' | 'liveScopes'>,
  refusals: ReadonlyMap<string, string | undefined>,
  scopes: object = {},
): Promise<LiveTokens | string> {
  let counts: readonly PassportTokenCount[];
  let named: readonly string[];
  try {
    counts = await source.countTokens();
    named = await source.liveScopes();
  } catch (error) {
    // Clients can be imported by a user of the database who may not read the tokens.
    if (error instanceof ConfigError || error instanceof StorageError) return error.message;
    throw error;
  }
  const accepted = { user: 0, personal: 0, client: 0, refresh: 0 };
  const refused = new Map<string, number>();
  let lastEnd = 0;
  for (const { clientId, count, kind, lastEnd: end } of counts) {
    const reason =
      clientId === undefined || refusals.has(clientId)
        ? refusals.get(clientId ?? '')
        : 'the client was deleted';
    if (reason === undefined) {
      accepted[kind] += count;
      lastEnd = Math.max(lastEnd, end);
    } else refused.set(reason, (refused.get(reason) ?? 0) + count);
  }
  return {
    accepted,
    last_end: lastEnd === 0 ? null : toDate(lastEnd).toISOString(),
    refused: Array.from(refused, ([reason, count]) => ({ reason, count })),
    undefined_scopes: named.filter((name) => name !== '*' && !Object.hasOwn(scopes, name)),
  };
}

export function liveTokensText(tokens: LiveTokens | string): string {
  if (typeof tokens === 'string') return wrap('', `The live tokens were not counted: ${tokens}`);
  const { accepted, last_end: lastEnd, refused, undefined_scopes: missing } = tokens;
  const kinds = Object.entries(KINDS).map(
    ([kind, name]) => `${formatCount(accepted[kind as PassportTokenCount['kind']])} ${name}`,
  );
  const ends = lastEnd === null ? '' : `; the last one ends on ${lastEnd.slice(0, 10)}`;
  return [
    wrap('', `Live tokens that the feature laravelPassport() accepts: ${kinds.join(', ')}${ends}.`),
    ...refused.map(({ count, reason }) =>
      wrap('', `Live tokens that cannot move: ${formatCount(count)}, because ${reason}.`),
    ),
    ...(missing.length > 0
      ? [
          wrap(
            '',
            `Define the scopes that they name in the option scopes, because those that are not defined permit nothing: ${missing.join(', ')}.`,
          ),
        ]
      : []),
  ].join('\n');
}

import type { Step, Value } from '../statements.ts';

/** A row that a query has found. */
type Row = Readonly<Record<string, Value>>;

/** The result sets of a compound statement, and then the header that ends the answer. */
type Answer = readonly (readonly Row[])[];

/**
 * A transaction of several statements as one statement, which takes one round trip: `begin not atomic` of MariaDB, to whose parser it
 * is a single statement with a single end. Nothing is sent in mysql2's mode `multipleStatements`, in which text that got into a
 * statement could end it and begin another. MySQL has such statements in stored procedures only.
 *
 * An error ends it and leaves the transaction open, to be rolled back.
 */
export function compoundStatement(steps: readonly Step[]): {
  readonly sql: string;
  readonly values: readonly Value[];
} {
  const conditions = steps.flatMap(({ needs }) => (needs ? ['end if;'] : []));
  const sql = [
    'begin not atomic',
    'declare is_met int default 0;',
    'start transaction;',
    ...steps.flatMap((step) => [`${step.sql};`, ...(step.needs ? [`if ${IS_MET[step.needs]} then`] : [])]),
    'set is_met = 1;',
    ...conditions,
    'if is_met then commit; else rollback; end if;',
    'select is_met;',
    'end',
  ].join('\n');
  return { sql, values: steps.flatMap(({ values }) => values) };
}

// A condition on the result of the statement before it.
const IS_MET = { change: 'row_count() > 0', row: 'found_rows() > 0' } as const;

/** The row that the last query among the steps has found, or an empty one; `undefined` when the steps were undone. */
export function readAnswer(answer: Answer): Row | undefined {
  const sets = answer.slice(0, -1);
  const isMet = Number(sets.at(-1)?.[0]?.['is_met']) === 1;
  return isMet ? (sets.at(-2)?.[0] ?? {}) : undefined;
}

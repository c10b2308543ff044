/** The columns by which the ends of a user, of a client and of all are found. */
const ENDS = { user: 'user_id', client: 'client_id', all: undefined } as const;

/**
 * A condition on a row `alias` of a grant or a session: none of the parties was ended after it began.
 *
 * By scalar subqueries, which read one row by its primary key in any plan. A join would be planned by the number of ended users
 * and clients, and PostgreSQL does not know it before it has analyzed the table.
 */
export function notEnded(alias: string, parties: readonly (keyof typeof ENDS)[]): string {
  const conditions = parties.map((kind) => {
    const value = ENDS[kind] === undefined ? "''" : `${alias}.${ENDS[kind]}`;
    const ended = `select r.sequence from gatehouse_revocations r where r.kind = '${kind}' and r.value = ${value}`;
    return `coalesce((${ended}), 0) <= ${alias}.sequence`;
  });
  return conditions.join(' and ');
}

/**
 * A condition: a user was not ended after something began. Its values are the user's id and the sequence number of the beginning.
 *
 * In an insert InnoDB reads the row with a lock: it waits for an end of that user that is not committed yet, and for no other's.
 */
export const USER_IS_NOT_ENDED = `not exists (
  select 1 from gatehouse_revocations r where r.kind = 'user' and r.value = ? and r.sequence > ?)`;

/** One row where that is so, else none: what an insert of `RowMapping.insertFor` selects its values from. */
export const UNLESS_USER_ENDED = `from (select 1 as one) given where ${USER_IS_NOT_ENDED}`;

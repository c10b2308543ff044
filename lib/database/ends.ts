/** The columns by which the ends of a user, of a client and of all are found. */
const ENDS = { user: 'user_id', client: 'client_id', all: undefined } as const;

/**
 * A condition on a row `alias` of a grant or a session: none of the parties was ended after it began.
 *
 * Scalar subqueries read one row by its primary key in any plan. The plan of a join would depend on the number of ended users and
 * clients, which PostgreSQL does not know before it has analyzed the table.
 */
export function notEnded(alias: string, parties: readonly (keyof typeof ENDS)[]): string {
  const conditions = parties.map((kind) => {
    const value = ENDS[kind] === undefined ? "''" : `${alias}.${ENDS[kind]}`;
    const ended = `select r.sequence from gatehouse_revocations r where r.kind = '${kind}' and r.value = ${value}`;
    return `coalesce((${ended}), 0) <= ${alias}.sequence`;
  });
  return conditions.join(' and ');
}

/** The same for one party, whose value and sequence number are those of the statement. */
function isNotEnded(kind: keyof typeof ENDS): string {
  const value = ENDS[kind] === undefined ? "''" : '?';
  return `not exists (
  select 1 from gatehouse_revocations r where r.kind = '${kind}' and r.value = ${value} and r.sequence > ?)`;
}

/**
 * A condition: a user was not ended after something began. Its values are the user's id and the sequence number of the beginning.
 *
 * In an insert, InnoDB reads the row with a lock: the insert waits for an uncommitted end of this user, and not for the end of any other
 * user.
 */
export const USER_IS_NOT_ENDED: string = isNotEnded('user');

/** A condition: a client, or all, were not ended after something began. Its values are the client's id, and that number twice. */
export const CLIENT_IS_NOT_ENDED = `${isNotEnded('client')} and ${isNotEnded('all')}`;

/** Finds one row when the user was not ended, else none. Append it to an insert of `RowMapping.insertFor`. */
export const UNLESS_USER_ENDED = `from (select 1 as one) given where ${USER_IS_NOT_ENDED}`;

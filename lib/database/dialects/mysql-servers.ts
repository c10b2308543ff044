import { codeOf, CodedError } from '../error-kinds.ts';
import type { SqlConnection } from '../port.ts';
import type { Statements } from '../statements.ts';

/** The servers that connections have reached: a name or a load balancer may lead to several, a read-only replica among them. */
interface MysqlServers {
  /** Asks the server who it is, once. @throws an error of the kind `read only` for a server that only allows reads */
  identify(connection: SqlConnection): Promise<MysqlServer>;
  requireWritable(statements: Statements): Promise<void>;
}

interface MysqlServer {
  /** Only MariaDB has compound statements outside of procedures, and time limits of all kinds of statements. */
  readonly isMariadb: boolean;
}

export function mysqlServers(): MysqlServers {
  const known = new WeakMap<object, MysqlServer>();

  return {
    async identify({ native, query }) {
      const before = known.get(native);
      if (before) return before;
      const answer = await unlessUnknown(query(IDENTIFY, []));
      const identity = answer?.rows[0] as ServerIdentity | undefined;
      if (identity) requireWritable(identity);
      const server = { isMariadb: Number(identity?.mariadb) === 1 };
      known.set(native, server);
      return server;
    },
    async requireWritable({ get }) {
      requireWritable((await get<ServerIdentity>(IDENTIFY))!);
    },
  };
}

interface ServerIdentity {
  readonly read_only: string;
  readonly mariadb: number | string;
}

// Only MariaDB reads its kind of comment.
const IDENTIFY = `
  select concat_ws(' ', @@global.read_only, @@innodb_read_only) as read_only, 0 /*M!100101 + 1 */ as mariadb`;

function requireWritable({ read_only: readOnly }: ServerIdentity): void {
  // `read_only` is a number in some versions and a word in others.
  if (/^(0|OFF) (0|OFF)$/.test(readOnly)) return;
  throw new CodedError('ER_OPTION_PREVENTS_STATEMENT', 'the server only allows reads');
}

/** A server that was built without a component does not know the variables of that component. */
export async function unlessUnknown<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (codeOf(error) !== 'ER_UNKNOWN_SYSTEM_VARIABLE') throw error;
    return undefined;
  }
}

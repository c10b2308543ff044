import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';

import { connect, MARIADB, POSTGRESQL } from '../../test/adapters/servers.ts';
import type { ServerKind } from '../../test/adapters/servers.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { runProgram, startProgram, temporaryFolder, untilAnswer } from './servers.ts';
import { SimulatedClock } from './simulated-clock.ts';

const [POSTGRES] = globSync('/usr/lib/postgresql/*/bin/postgres').toSorted().toReversed();
const POSTGRES_SETTINGS = ['-c', 'unix_socket_directories=', '-c', 'fsync=off'];
const MARIADBD = '/usr/sbin/mariadbd';
const MARIADB_SETTINGS = ['--bind-address=127.0.0.1', '--innodb-flush-log-at-trx-commit=0'];

/** A database whose server has a simulated clock, which starts at the time of the machine. */
export interface SimulatedDatabase extends AsyncDisposable {
  readonly name: 'SQLite' | ServerKind['name'];
  /** For `knexStorage()`. */
  readonly address: string;
  readonly clock: SimulatedClock;
}

/** How to start a server. */
interface Server {
  readonly kind: ServerKind;
  /** The user that it runs as, when this process is root's. */
  readonly user: string;
  readonly install: readonly string[];
  readonly command: readonly string[];
  readonly address: string;
}

/** Starts the three databases, one after the other; each ends with its turn. Warns of those whose programs are missing. */
export async function* simulatedDatabases(): AsyncGenerator<SimulatedDatabase> {
  {
    const folder = temporaryFolder();
    yield {
      name: 'SQLite',
      address: `sqlite:${folder.path}/week.db`,
      clock: new SimulatedClock(folder.path),
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  }
  if (POSTGRES === undefined) console.warn('SKIPPED, PostgreSQL: apt-get install postgresql');
  else yield await start(postgresql);
  if (!existsSync(MARIADBD)) console.warn('SKIPPED, MariaDB: apt-get install mariadb-server');
  else yield await start(mariadb);
}

function postgresql(data: string, port: number): Server {
  const initdb = join(POSTGRES!, '../initdb');
  return {
    kind: POSTGRESQL,
    user: 'postgres',
    install: [initdb, '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'],
    command: [POSTGRES!, '-D', data, '-p', `${port}`, '-h', '127.0.0.1', ...POSTGRES_SETTINGS],
    address: `postgres://postgres@127.0.0.1:${port}/postgres`,
  };
}

function mariadb(data: string, port: number): Server {
  const files = ['--no-defaults', `--datadir=${data}`];
  return {
    kind: MARIADB,
    user: 'mysql',
    install: ['mariadb-install-db', ...files, '--auth-root-authentication-method=normal'],
    command: [MARIADBD, ...files, `--socket=${data}/socket`, `--port=${port}`, ...MARIADB_SETTINGS],
    address: `mysql://root@127.0.0.1:${port}/test`,
  };
}

async function start(serverAt: (data: string, port: number) => Server): Promise<SimulatedDatabase> {
  const folder = temporaryFolder();
  const log = join(folder.path, 'log');
  const { address, command, install, kind, user } = serverAt(join(folder.path, 'data'), await freePort());
  await runProgram(install, { user, log });
  const clock = new SimulatedClock(folder.path);
  // Not the variables of this process: the program that changes the user must not load the library.
  const variables = Object.entries(clock.environment).map(([name, value]) => `${name}=${value}`);
  const server = startProgram(['env', ...variables, ...command], { user, log });
  async function answers(): Promise<boolean> {
    const connection = connect(kind, address);
    try {
      await connection.raw('select 1');
      return true;
    } finally {
      await connection.destroy();
    }
  }
  await untilAnswer(answers, { log, server });
  return {
    name: kind.name,
    address,
    clock,
    async [Symbol.asyncDispose]() {
      await server.end('SIGKILL');
      folder[Symbol.dispose]();
    },
  };
}

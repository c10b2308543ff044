import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import type { ExecutionContext } from 'ava';

import { freePort } from '../harness/free-port.ts';
import test from '../harness/test.ts';
import { sayMissing } from '../harness/missing.ts';
import { connect, MARIADB, POSTGRESQL } from './servers.ts';
import type { ServerKind } from './servers.ts';
import { FOLDER_OF_DATABASES } from './temporary-file.ts';

/** A database server for one test, which kills and restarts it. */
export interface ScratchServer {
  readonly address: string;
  start(): Promise<void>;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Kills the server and removes its files. */
  remove(): Promise<void>;
}

/** How a server is made from the programs that Debian installs. */
export interface ScratchKind extends ServerKind {
  /** The program, as a pattern of file names. */
  readonly program: string;
  readonly user: string;
  readonly killSignal: NodeJS.Signals;
  initialize(program: string, folder: string): string[];
  serve(program: string, folder: string, port: number): string[];
  address(port: number): string;
}

export const SCRATCH_KINDS: readonly ScratchKind[] = [
  {
    ...POSTGRESQL,
    program: '/usr/lib/postgresql/*/bin',
    user: 'postgres',
    // The signal that `pg_ctl stop -m immediate` sends: no clean shutdown, and the next start recovers.
    killSignal: 'SIGQUIT',
    initialize: (bin, folder) => [`${bin}/initdb`, '-D', folder, ...words('-A trust -U postgres --no-sync')],
    serve: (bin, folder, port) => [
      `${bin}/postgres`,
      '-D',
      folder,
      ...words(`-p ${port} -h 127.0.0.1 -c unix_socket_directories=`),
    ],
    address: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
  },
  {
    ...MARIADB,
    program: '/usr/sbin/mariadbd',
    user: 'mysql',
    killSignal: 'SIGKILL',
    initialize: (_program, folder) => [
      'mariadb-install-db',
      '--no-defaults',
      `--datadir=${folder}`,
      ...words('--auth-root-authentication-method=normal --skip-test-db'),
    ],
    serve: (program, folder, port) => [
      program,
      '--no-defaults',
      `--datadir=${folder}`,
      `--socket=${folder}/socket`,
      ...words(`--port=${port} --bind-address=127.0.0.1 --innodb-buffer-pool-size=32M`),
    ],
    address: (port) => `mysql://root@127.0.0.1:${port}/mysql`,
  },
];

function words(command: string): string[] {
  return command.split(' ');
}

/** The programs of a kind, or `undefined` where they are not installed. */
export function findPrograms({ program }: ScratchKind): string | undefined {
  return globSync(program).toSorted().at(-1);
}

/** Registers a test once for each kind, with a server of its own that has started. */
export function onEachScratchServer(
  title: string,
  run: (t: ExecutionContext, server: ScratchServer, kind: ScratchKind) => Promise<void>,
): void {
  for (const kind of SCRATCH_KINDS) {
    const programs = findPrograms(kind);
    if (programs === undefined) {
      sayMissing(`there is no ${kind.program}: install ${kind.name} as Debian packages it, for: ${title}`);
      continue;
    }
    test.serial(`${kind.name}: ${title}`, async (t) => {
      const server = await makeScratchServer(kind, programs);
      t.teardown(async () => server.remove());
      await server.start();
      await run(t, server, kind);
    });
  }
}

export async function makeScratchServer(kind: ScratchKind, programs: string): Promise<ScratchServer> {
  const folder = mkdtempSync(join(FOLDER_OF_DATABASES, 'gatehouse-server-'));
  // The server's user creates its data folder in this one.
  chmodSync(folder, 0o777);
  const data = join(folder, 'data');
  const port = await freePort();
  const address = kind.address(port);
  const [initializing = '', ...given] = asUser(kind.user, kind.initialize(programs, data));
  await promisify(execFile)(initializing, given);
  let server: ChildProcess | undefined;

  async function kill(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, 'exit');
    server.kill(kind.killSignal);
    await exit;
  }

  return {
    address,
    async start() {
      const [serving = '', ...rest] = asUser(kind.user, kind.serve(programs, data, port));
      server = spawn(serving, rest, { stdio: 'ignore' });
      await untilAnswer(kind, address);
    },
    kill,
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The servers refuse to run as root. `setpriv` replaces itself by the program, so signals reach the server. */
export function asUser(user: string, command: string[]): string[] {
  if (process.getuid?.() !== 0) return command;
  return ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--', ...command];
}

export async function untilAnswer(kind: ServerKind, address: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const connection = connect(kind, address);
    try {
      await connection.raw('select 1');
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(50);
    } finally {
      await connection.destroy();
    }
  }
}

import { existsSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect, POSTGRESQL } from '../../test/adapters/servers.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { runProgram, startProgram, temporaryFolder, untilAnswer } from './servers.ts';
import type { Running } from './servers.ts';

const HAPROXY = '/usr/sbin/haproxy';
const PGBOUNCER = '/usr/sbin/pgbouncer';
const BIN = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1);
const USER = 'postgres';

/** What the machine lacks for a cluster; `undefined` when it lacks nothing. */
export function whatIsMissing(): string | undefined {
  const needed = { [`${BIN}/postgres`]: 'postgresql', [HAPROXY]: 'haproxy', [PGBOUNCER]: 'pgbouncer' };
  const missing = Object.entries(needed).flatMap(([file, name]) => (existsSync(file) ? [] : [name]));
  return missing.length === 0 ? undefined : `apt-get install ${missing.join(' ')}`;
}

export interface ClusterSettings {
  /** Whether a commit waits for one of the standbys. */
  readonly synchronous: boolean;
}

/** A PostgreSQL primary with two standbys on the loopback address, HAProxy before them, and PgBouncer before HAProxy. */
export interface PostgresqlCluster extends AsyncDisposable {
  /** The address of the primary, whichever it is. */
  readonly haproxy: string;
  /** The same through PgBouncer in transaction mode. */
  readonly pgbouncer: string;
  /** From now on the primary sends nothing to the standbys, as over a network that is slow. */
  suspendReplication(): void;
  /** Ends the primary with all of its processes by SIGKILL. */
  killPrimary(): Promise<void>;
  /** Promotes the standby that has received the most; the other one follows it. */
  promote(): Promise<void>;
}

/** Starts a cluster with the programs of Debian's packages. */
export async function startPostgresqlCluster({ synchronous }: ClusterSettings): Promise<PostgresqlCluster> {
  const folder = temporaryFolder();
  const programs: Running[] = [];
  const servers: Server[] = [];

  // The servers do not end with this process, and an error may end it.
  function endServers(): void {
    for (const program of programs) program.signal('SIGKILL');
    for (const server of servers) server.signalAll('SIGKILL');
  }

  async function end(): Promise<void> {
    process.off('exit', endServers);
    for (const program of programs) program.signal('SIGKILL');
    await Promise.all(servers.map(async (server) => server.kill()));
    folder[Symbol.dispose]();
  }

  process.on('exit', endServers);

  try {
    const primary = new Server('primary', folder.path, await freePort());
    servers.push(primary);
    await primary.install();
    await primary.start();
    await primary.run(`create role haproxy login`);
    await primary.run('create database gatehouse');
    for (const name of ['s1', 's2']) {
      const standby = new Server(name, folder.path, await freePort());
      servers.push(standby);
      await standby.copy(primary);
      await standby.start();
    }
    if (synchronous) {
      await primary.run(`alter system set synchronous_standby_names = 'ANY 1 (s1, s2)'`);
      await primary.run('select pg_reload_conf()');
    }
    const [haproxy, pgbouncer] = [await freePort(), await freePort()];
    const configuration = join(folder.path, 'haproxy.cfg');
    writeFileSync(configuration, haproxySettings(haproxy, servers));
    programs.push(
      startProgram([HAPROXY, '-q', '-db', '-f', configuration], {
        user: 'haproxy',
        log: join(folder.path, 'haproxy.log'),
      }),
    );
    const settings = join(folder.path, 'pgbouncer.ini');
    writeFileSync(settings, pgbouncerSettings(pgbouncer, haproxy));
    const log = join(folder.path, 'pgbouncer.log');
    programs.push(startProgram([PGBOUNCER, '--quiet', settings], { user: USER, log }));
    await untilAnswer(async () => answers(addressOf(pgbouncer)), { log, server: programs[1]! });

    return {
      haproxy: addressOf(haproxy),
      pgbouncer: addressOf(pgbouncer),
      suspendReplication: () => servers[0]!.suspendReplication(),
      killPrimary: async () => servers[0]!.kill(),
      async promote() {
        const received = await Promise.all(servers.slice(1).map(async (server) => server.received()));
        const [next, other] =
          received[0]! >= received[1]! ? [servers[1]!, servers[2]!] : [servers[2]!, servers[1]!];
        await next.run('select pg_promote()');
        await other.run(`alter system set primary_conninfo = '${next.conninfo(other.name)}'`);
        await other.run('select pg_reload_conf()');
      },
      [Symbol.asyncDispose]: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

function addressOf(port: number, database = 'gatehouse'): string {
  return `postgres://postgres@127.0.0.1:${port}/${database}`;
}

async function answers(address: string): Promise<boolean> {
  const connection = connect(POSTGRESQL, address);
  try {
    await connection.raw('select 1');
    return true;
  } finally {
    await connection.destroy();
  }
}

/** One PostgreSQL server. */
class Server {
  readonly name: string;
  readonly port: number;
  readonly #data: string;
  readonly #log: string;
  #running: Running | undefined;

  constructor(name: string, folder: string, port: number) {
    this.name = name;
    this.port = port;
    this.#data = join(folder, name);
    this.#log = join(folder, `${name}.log`);
  }

  async install(): Promise<void> {
    await this.#runProgram(['initdb', '-D', this.#data, '-U', 'postgres', '-A', 'trust', '--no-sync']);
  }

  /** Becomes a standby of another server. */
  async copy(primary: Server): Promise<void> {
    const source = primary.conninfo(this.name);
    await this.#runProgram([
      'pg_basebackup',
      '-D',
      this.#data,
      '-R',
      '-c',
      'fast',
      '--no-sync',
      '-d',
      source,
    ]);
  }

  async start(): Promise<void> {
    const options = ['-p', `${this.port}`, '-h', '127.0.0.1', '-c', 'unix_socket_directories='];
    this.#running = startProgram(
      [`${BIN}/postgres`, '-D', this.#data, ...options, '-c', 'max_connections=200'],
      {
        user: USER,
        log: this.#log,
      },
    );
    await untilAnswer(async () => answers(addressOf(this.port, 'postgres')), {
      log: this.#log,
      server: this.#running,
    });
  }

  conninfo(standby: string): string {
    return `host=127.0.0.1 port=${this.port} user=postgres application_name=${standby}`;
  }

  async run(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const deadline = performance.now() + 20_000;
    for (;;) {
      const connection = connect(POSTGRESQL, addressOf(this.port, 'postgres'));
      try {
        return (await connection.raw(sql)).rows;
      } catch (error) {
        // On a busy machine a connection may take longer than this one waits.
        const isBusy = error instanceof Error && error.name === 'KnexTimeoutError';
        if (!isBusy || performance.now() > deadline) throw error;
      } finally {
        await connection.destroy();
      }
    }
  }

  /** How far it has received the log, in bytes. */
  async received(): Promise<number> {
    const [row] = await this.run(`select pg_last_wal_receive_lsn() - '0/0' as bytes`);
    return Number(row!['bytes']);
  }

  suspendReplication(): void {
    for (const child of childrenOf(this.#pid)) {
      if (readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('walsender'))
        process.kill(child, 'SIGSTOP');
    }
  }

  /** Signals the server and all of its processes, as the end of its machine does. */
  signalAll(signal: NodeJS.Signals): void {
    const children = this.#running?.hasEnded === false ? childrenOf(this.#pid) : [];
    this.#running?.signal(signal);
    for (const child of children) process.kill(child, signal);
  }

  async kill(): Promise<void> {
    if (this.#running?.hasEnded !== false) return;
    // The server restarts a process that ends, and a process goes on for a moment without the server.
    this.#running.signal('SIGSTOP');
    this.signalAll('SIGKILL');
    await this.#running.end('SIGKILL');
  }

  get #pid(): number {
    return Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }

  async #runProgram([program, ...given]: string[]): Promise<void> {
    await runProgram([`${BIN}/${program}`, ...given], { user: USER, log: this.#log });
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);
}

function parentOf(pid: number): number | undefined {
  try {
    // The fields after the name, which may contain anything, in parentheses.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1]);
  } catch {
    // It has ended.
    return undefined;
  }
}

/** The settings that docs/review/databases.md shows. */
function haproxySettings(port: number, servers: readonly Server[]): string {
  return `
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
listen postgresql
  bind 127.0.0.1:${port}
  option tcp-check
  tcp-check connect
  # A startup message: user haproxy, database postgres.
  tcp-check send-binary 000000280003000075736572006861
  tcp-check send-binary 70726f787900646174616261736500706f7374677265730000
  # show transaction_read_only
  tcp-check send-binary 510000001f73686f77207472616e73616374696f6e5f726561645f6f6e6c7900
  # One row, with the value off.
  tcp-check expect binary 440000000d0001000000036f6666
  default-server check inter 500ms fastinter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.map(({ name, port: own }) => `  server ${name} 127.0.0.1:${own}`).join('\n')}
`;
}

function pgbouncerSettings(port: number, haproxy: number): string {
  return `
[databases]
* = host=127.0.0.1 port=${haproxy} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
server_login_retry = 1
`;
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../../test/harness/free-port.ts';
import { connect, MARIADB } from '../../test/adapters/servers.ts';
import { runProgram, startProgram, temporaryFolder, untilAnswer } from './servers.ts';
import type { Running } from './servers.ts';

const MARIADBD = '/usr/sbin/mariadbd';
const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
const USER = 'mysql';

/** What the machine lacks for a cluster; `undefined` when it lacks nothing. */
export function whatIsMissing(): string | undefined {
  // Debian's `mariadb-server` depends on the other two.
  const isThere = [MARIADBD, PROVIDER, '/usr/bin/rsync'].every((file) => existsSync(file));
  return isThere ? undefined : 'apt-get install mariadb-server';
}

/** A member of a Galera cluster. */
export interface Member {
  readonly port: number;
  /** Of the database `mysql`; see {@link GaleraCluster.createDatabase} for others. */
  readonly address: string;
  /** Ends it by SIGKILL. */
  kill(): Promise<void>;
  /** Suspends its process, or resumes it. */
  suspend(): void;
  resume(): void;
  /** Starts it after `kill()`, and waits until it has the state of the others. */
  rejoin(): Promise<void>;
}

/** A cluster of MariaDB servers on the loopback address, each of which accepts writes. */
export interface GaleraCluster extends AsyncDisposable {
  readonly members: readonly Member[];
  /** Creates an empty database, and resolves to its address on each member. */
  createDatabase(name: string): Promise<string[]>;
}

interface Ports {
  readonly sql: number;
  readonly group: number;
  readonly incremental: number;
  readonly snapshot: number;
}

/** Starts a cluster with the programs of Debian's packages. */
export async function startGaleraCluster(size: number): Promise<GaleraCluster> {
  const folder = temporaryFolder();
  const ports: Ports[] = [];
  for (let index = 0; index < size; index += 1) {
    const [sql, group, incremental, snapshot] = await Promise.all([1, 2, 3, 4].map(freePort));
    ports.push({ sql: sql!, group: group!, incremental: incremental!, snapshot: snapshot! });
  }
  const group = `gcomm://${ports.map((port) => `127.0.0.1:${port.group}`).join(',')}`;
  const members: StartedMember[] = [];
  try {
    for (const [index, own] of ports.entries()) {
      const member = new StartedMember(join(folder.path, `member-${index + 1}`), own);
      members.push(member);
      // The first member founds the cluster, and the others get a copy of its files.
      if (index === 0) await member.install();
      await member.start(index === 0 ? 'gcomm://' : group);
      member.group = group;
    }
  } catch (error) {
    await Promise.all(members.map(async (member) => member.kill()));
    folder[Symbol.dispose]();
    throw error;
  }

  return {
    members,
    async createDatabase(name) {
      for (const { address } of members) {
        const admin = connect(MARIADB, address);
        try {
          // On the others it waits until they have it too.
          await admin.raw('set session wsrep_sync_wait = 15');
          await admin.raw(`create database if not exists ${name}`);
        } finally {
          await admin.destroy();
        }
      }
      return members.map(({ port }) => `mysql://root@127.0.0.1:${port}/${name}`);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map(async (member) => member.kill()));
      folder[Symbol.dispose]();
    },
  };
}

class StartedMember implements Member {
  readonly #data: string;
  readonly #ports: Ports;
  #server: Running | undefined;
  /** The addresses of all members, for a start after the first. */
  group = '';

  constructor(data: string, ports: Ports) {
    this.#data = data;
    this.#ports = ports;
  }

  get port(): number {
    return this.#ports.sql;
  }

  get address(): string {
    return `mysql://root@127.0.0.1:${this.port}/mysql`;
  }

  get #log(): string {
    return `${this.#data}.log`;
  }

  /** The options that each start has in common. */
  get #options(): readonly string[] {
    return [
      '--no-defaults',
      `--datadir=${this.#data}`,
      `--socket=${this.#data}/socket`,
      `--port=${this.port}`,
      '--bind-address=127.0.0.1',
      '--innodb-buffer-pool-size=32M',
      '--innodb-log-file-size=8M',
      '--innodb-flush-log-at-trx-commit=2',
      '--innodb-autoinc-lock-mode=2',
      '--binlog-format=ROW',
    ];
  }

  async install(): Promise<void> {
    await this.#run([
      'mariadb-install-db',
      '--no-defaults',
      `--datadir=${this.#data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--innodb-log-file-size=8M',
    ]);
  }

  async start(group: string, position?: string): Promise<void> {
    if (!existsSync(this.#data)) await this.#run(['mkdir', this.#data]);
    const { group: own, incremental, snapshot } = this.#ports;
    this.#server = startProgram(
      [
        MARIADBD,
        ...this.#options,
        '--wsrep-on=ON',
        `--wsrep-provider=${PROVIDER}`,
        '--wsrep-cluster-name=gatehouse',
        `--wsrep-cluster-address=${group}`,
        '--wsrep-node-address=127.0.0.1',
        `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${own};ist.recv_addr=127.0.0.1:${incremental};gcache.size=32M`,
        '--wsrep-sst-method=rsync',
        `--wsrep-sst-receive-address=127.0.0.1:${snapshot}`,
        ...(position === undefined ? [] : [`--wsrep-start-position=${position}`]),
      ],
      { user: USER, log: this.#log },
    );
    await untilAnswer(async () => this.#isSynced(), { log: this.#log, server: this.#server });
  }

  async kill(): Promise<void> {
    await this.#server?.end('SIGKILL');
  }

  suspend(): void {
    this.#server?.signal('SIGSTOP');
  }

  resume(): void {
    this.#server?.signal('SIGCONT');
  }

  async rejoin(): Promise<void> {
    // As systemd's unit does: the position up to which the files were written is recovered first.
    const log = `${this.#data}.recovery`;
    await runProgram([MARIADBD, ...this.#options, '--wsrep-recover', `--log-error=${log}`], {
      user: USER,
      log: this.#log,
    });
    const positions = readFileSync(log, 'utf8').matchAll(/Recovered position: (\S+)/g);
    await this.start(this.group, [...positions].at(-1)?.[1]);
  }

  async #isSynced(): Promise<boolean> {
    const connection = connect(MARIADB, this.address);
    try {
      const [rows] = await connection.raw(`show status like 'wsrep_local_state_comment'`);
      return rows[0]?.Value === 'Synced';
    } finally {
      await connection.destroy();
    }
  }

  async #run(command: readonly string[]): Promise<void> {
    await runProgram(command, { user: USER, log: this.#log });
  }
}

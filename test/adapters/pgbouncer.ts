import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freePort } from '../harness/free-port.ts';
import { asUser, untilAnswer } from './scratch-server.ts';
import { POSTGRESQL } from './servers.ts';

const PROGRAM = '/usr/sbin/pgbouncer';

export const hasPgBouncer: boolean = existsSync(PROGRAM);

/** A PgBouncer in transaction mode, with one connection to the server for each database. */
export interface PgBouncer {
  /** The server's address, through it. */
  readonly address: string;
  /** Of its process. */
  readonly id: number;
  remove(): Promise<void>;
}

/** @param settings - lines of its configuration */
export async function startPgBouncer(
  serverAddress: string,
  settings: readonly string[] = [],
): Promise<PgBouncer> {
  const server = new URL(serverAddress);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const password = server.password === '' ? '' : ` password=${decodeURIComponent(server.password)}`;
  writeFileSync(
    file,
    `[databases]
* = host=${server.hostname} port=${server.port || 5432} user=${server.username}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
${settings.join('\n')}
`,
    { mode: 0o644 },
  );
  // Its user reads the file.
  chmodSync(folder, 0o755);
  const [program = '', ...given] = asUser('postgres', [PROGRAM, '--quiet', file]);
  const bouncer = spawn(program, given, { stdio: 'ignore' });
  // A test that is ended for its time does not reach its teardown.
  const kill = (): void => void bouncer.kill('SIGQUIT');
  process.once('exit', kill);
  const address = new URL(serverAddress);
  address.hostname = '127.0.0.1';
  address.port = String(port);
  await untilAnswer(POSTGRESQL, address.href);
  return {
    address: address.href,
    id: bouncer.pid!,
    async remove() {
      const exit = once(bouncer, 'exit');
      process.off('exit', kill);
      kill();
      await exit;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

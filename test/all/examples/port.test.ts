import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

import test from '../../harness/test.ts';

import { temporaryFile } from '../../adapters/temporary-file.ts';
import { compileCache } from '../../harness/compile-cache.ts';
import { freePort } from '../../harness/free-port.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** The first line that an example prints, or an error with what it printed when it ended without one. */
async function firstLine({ stdout, stderr }: ReturnType<typeof start>): Promise<string> {
  const errors = text(stderr);
  for await (const line of createInterface(stdout)) return line;
  throw new Error(await errors);
}

/** Starts an example with the command in its first lines, on a port. */
function start(name: string, port: number, environment: Record<string, string> = {}) {
  return spawn(process.execPath, ['--conditions=gatehouse:source', join(ROOT, 'examples', `${name}.ts`)], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...compileCache,
      PORT: String(port),
      DATABASE_URL: `sqlite:${temporaryFile()}`,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

for (const name of ['embed', 'own-pages', 'own-users-knex', 'service', 'two-nodes']) {
  test(`${name} uses PORT, and prints nothing when the port is in use`, async (t) => {
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    const running = start(name, port);
    t.teardown(() => running.kill());
    const line = await firstLine(running);
    t.true(line.includes(origin), line);
    t.is((await fetch(`${origin}/.well-known/oauth-authorization-server`)).status, 200);
    if (name.startsWith('own-')) {
      const [link = ''] = /http:[^\s,]+/.exec(line) ?? [];
      t.regex(await (await fetch(link)).text(), /type="password"/);
    }

    const refused = start(name, port);
    t.teardown(() => refused.kill());
    // All are read from the start: Node drops the output of a process that ends before somebody reads it.
    const [output, errors, ended] = await Promise.all([
      text(refused.stdout),
      text(refused.stderr),
      once(refused, 'exit'),
    ]);
    t.is(output, '');
    t.regex(errors, /EADDRINUSE/);
    t.deepEqual(ended, [1, null]);
  });
}

for (const [name, line] of [
  ['device', 'Usage: node device.ts ISSUER CLIENT_ID'],
  ['resource-server', 'Set ISSUER, CLIENT_ID and CLIENT_SECRET, such as ISSUER=http://localhost:3000 ...'],
  ['two-nodes', 'Set DATABASE_URL to an empty PostgreSQL database, such as postgres://localhost/gatehouse'],
] as const) {
  test(`${name} without what it needs prints one line`, async (t) => {
    const child = start(name, 0, { DATABASE_URL: '' });
    const ended = once(child, 'exit');
    t.is(await text(child.stderr), `${line}\n`);
    t.deepEqual(await ended, [2, null]);
  });
}

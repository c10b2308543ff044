import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

import test from 'ava';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { freePort } from '../harness/free-port.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The first line that an example prints, or an error with what it printed when it ended without one. */
async function firstLine({ stdout, stderr }: ReturnType<typeof start>): Promise<string> {
  const errors = text(stderr);
  for await (const line of createInterface(stdout)) return line;
  throw new Error(await errors);
}

/** Starts an example with the command in its first lines, on a port. */
function start(name: string, port: number) {
  return spawn(process.execPath, ['--conditions=gatehouse:source', join(ROOT, 'examples', `${name}.ts`)], {
    cwd: ROOT,
    env: { ...process.env, PORT: String(port), DATABASE_URL: `sqlite:${temporaryFile()}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

for (const name of ['embed', 'own-pages', 'own-users-knex', 'service', 'two-nodes']) {
  test(`${name} uses PORT, and prints nothing when the port is in use`, async (t) => {
    const occupying = createServer().listen(0, '127.0.0.1');
    t.teardown(() => occupying.close());
    await once(occupying, 'listening');
    const refused = start(name, (occupying.address() as AddressInfo).port);
    t.teardown(() => refused.kill());
    const [out, errors, [code]] = await Promise.all([
      text(refused.stdout),
      text(refused.stderr),
      once(refused, 'exit'),
    ]);
    t.is(out, '');
    t.regex(errors, /EADDRINUSE/);
    t.is(code, 1);

    const port = await freePort();
    const running = start(name, port);
    t.teardown(() => running.kill());
    const line = await firstLine(running);
    t.true(line.includes(`http://localhost:${port}`), line);
    const metadata = `http://localhost:${port}/.well-known/oauth-authorization-server`;
    t.is((await fetch(metadata)).status, 200);
  });
}

for (const name of ['own-pages', 'own-users-knex']) {
  test(`the link that ${name} prints leads to its login page`, async (t) => {
    const running = start(name, await freePort());
    t.teardown(() => running.kill());
    const line = await firstLine(running);
    const [link = ''] = /http:[^\s,]+/.exec(line) ?? [];
    const page = await fetch(link);
    t.is(page.status, 200, `${link}: ${await page.clone().text()}`);
    t.regex(await page.text(), /type="password"/);
  });
}

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

import { browserTest } from './browser-test.ts';
import { pdfInfo, pdfText } from './poppler.ts';

const inBrowser = browserTest().serial;

/** Starts a host as a user who is not root, with a folder of its own for temporary files. */
function startHost(temporary: string, ...words: string[]): ChildProcess {
  const file = resolve(import.meta.dirname, 'host-process.ts');
  const node = [process.execPath, '--conditions=gatehouse:source', file, ...words];
  // 65534 is `nobody`, whom every Linux has.
  const as =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'] : [];
  const [command = '', ...rest] = [...as, ...node];
  return spawn(command, rest, {
    env: { PATH: process.env['PATH'], HOME: temporary, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The command lines of processes that mention a folder. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => line.includes(folder));
}

for (const end of ['close', 'SIGTERM'] as const) {
  inBrowser(
    `with the sandbox on, a host of another user converts; after its ${end} no browser is left`,
    async (t) => {
      const temporary = mkdtempSync(join(tmpdir(), 'gatehouse-host-'));
      chmodSync(temporary, 0o777);
      const host = startHost(temporary, end);
      try {
        const exited = once(host, 'exit');
        const [line] = (await once(createInterface(host.stdout!), 'line')) as [string];
        const bytes = Buffer.from(line, 'base64');
        t.is((await pdfInfo(bytes)).title, 'Sandboxed');
        t.is(await pdfText(bytes), 'Text');
        if (end === 'SIGTERM') {
          const running = processesOf(temporary);
          t.true(running.some((command) => command.includes('--remote-debugging-pipe')));
          t.false(running.some((command) => command.includes('--no-sandbox')));
          host.kill('SIGTERM');
        }
        await exited;
        // Chromium notices that its pipe is closed.
        while (processesOf(temporary).length > 0) await new Promise(setImmediate);
        if (end === 'close')
          t.deepEqual(
            readdirSync(temporary).filter((name) => name.startsWith('playwright')),
            [],
          );
      } finally {
        host.kill('SIGKILL');
        rmSync(temporary, { recursive: true, force: true });
      }
    },
  );
}

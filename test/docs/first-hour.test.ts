// Follows docs/first-hour.md: saves its files, starts its server, and runs its commands and its test.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import test from 'ava';

import { gatehouse } from '../cli/gatehouse.ts';
import { freePort } from '../harness/free-port.ts';
import { run } from '../package/run.ts';
import { blocksOf, fileName, ROOT } from './guides.ts';

const GUIDE = 'docs/first-hour.md';
const SOURCES = '--conditions=gatehouse:source';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-first-hour-'));
mkdirSync(join(folder, 'node_modules'));
for (const name of readdirSync(join(ROOT, 'node_modules'))) {
  symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
}
symlinkSync(ROOT, join(folder, 'node_modules/koa-gatehouse'));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
const port = await freePort();
test.after.always(() => rmSync(folder, { recursive: true, force: true }));
const files = blocksOf(GUIDE, 'ts').map(({ code }) => {
  const name = fileName(code) ?? '';
  // Another program of this machine may have the port.
  writeFileSync(join(folder, name), code.replaceAll('3000', String(port)));
  return name;
});

test('every block of TypeScript is a file', (t) => {
  t.deepEqual(files, ['gate.ts', 'schools.ts', 'app.ts', 'start.ts', 'app.test.ts']);
});

test('its test passes', async (t) => {
  const { code, output } = await run(process.execPath, [SOURCES, '--test', 'app.test.ts'], folder);
  t.is(code, 0, output);
  t.regex(output, /pass 1\b/);
});

test('its commands do what the guide says', async (t) => {
  const { PATH = '' } = process.env;
  const server = spawn(process.execPath, [SOURCES, 'start.ts'], {
    cwd: folder,
    env: { PATH },
    stdio: 'inherit',
  });
  t.teardown(() => server.kill());
  await listening();
  const [, create = '', token = '', rename = '', list = '', permit = ''] = commands();

  const created = await gatehouse([...wordsOf(create), '--json']);
  t.is(created.code, 0, created.errors);
  const { client, client_secret } = JSON.parse(created.output);
  const { access_token } = JSON.parse(await shell(token, client.client_id, client_secret));
  t.deepEqual(JSON.parse(await shell(rename, access_token)), { data: { id: '17', name: 'Hill School' } });
  const refused = JSON.parse(await shell(list, access_token));
  t.like(refused, { status: 403, message: 'Missing permission to view schools.' });

  const permitted = await gatehouse(wordsOf(permit.replace('<client-id>', client.client_id)));
  t.is(permitted.code, 0, permitted.errors);
  // `tokens.revocationLag`, and a busy machine.
  for (let tries = 0; tries < 300; tries += 1) {
    const { data } = JSON.parse(await shell(list, access_token));
    if (data) {
      t.deepEqual(data, [{ id: '17', name: 'Hill School' }]);
      return;
    }
    await delay(100);
  }
  t.fail('the permission has no effect');
});

/** The lines of the guide's shell blocks, without those that install. */
function commands(): string[] {
  const lines = blocksOf(GUIDE, 'sh').flatMap(({ code }) => code.trim().split('\n'));
  return lines.slice(1);
}

/** The words of a `gatehouse` command, for the database of this test. */
function wordsOf(line: string): string[] {
  const words = Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
  return words
    .slice(2)
    .map((word) =>
      word.replace('sqlite:.', `sqlite:${folder}`).replace(/^gate\.ts$/, join(folder, 'gate.ts')),
    );
}

async function listening(): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await fetch(`http://localhost:${port}`).catch(() => undefined)) return;
    await delay(50);
  }
  throw new Error('the server does not listen');
}

/** Runs a command with the port of the test, and with the values for its placeholders, in order. */
async function shell(line: string, ...values: readonly string[]): Promise<string> {
  const rest = [...values];
  const filled = line.replace('3000', String(port)).replaceAll('…', () => rest.shift() ?? '');
  const { stdout } = await promisify(execFile)('bash', ['-c', filled]);
  return stdout;
}

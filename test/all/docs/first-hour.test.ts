// Follows docs/first-hour.md: saves its files, starts its server, and runs its commands and its test.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import test from '../../harness/test.ts';

import { gatehouse } from '../../cli/gatehouse.ts';
import { Browser } from '../../harness/browser.ts';
import { compileCache } from '../../harness/compile-cache.ts';
import { freePort } from '../../harness/free-port.ts';
import { signIn } from '../../harness/platform.ts';
import { makeProject, runLine, waitForAnswer } from '../../harness/quick-start.ts';
import { until } from '../../harness/until.ts';
import { shared } from '../../harness/shared.ts';
import { run } from '../package/run.ts';
import { blocksOf, fileName } from '../../docs/guides.ts';

const GUIDE = 'docs/first-hour.md';
const SOURCES = '--conditions=gatehouse:source';

const folder = makeProject();
const started = shared(async () => {
  const port = await freePort();
  const files = blocksOf(GUIDE, 'ts').map(({ code }) => {
    const name = fileName(code) ?? '';
    // Another program of this machine may have the port.
    writeFileSync(join(folder, name), code.replaceAll('3000', String(port)));
    return name;
  });
  return { files, origin: `http://localhost:${port}` };
});

test('every block of TypeScript is a file', async (t) => {
  const { files } = await started();
  t.deepEqual(files, ['gate.ts', 'schools.ts', 'app.ts', 'start.ts', 'app.test.ts']);
});

test('its test passes', async (t) => {
  await started();
  const { code, output } = await run(process.execPath, [SOURCES, '--test', 'app.test.ts'], folder);
  t.is(code, 0, output);
  t.regex(output, /pass 1\b/);
});

test('its commands do what the guide says', async (t) => {
  const { origin } = await started();
  const { PATH = '' } = process.env;
  const server = spawn(process.execPath, [SOURCES, 'start.ts'], {
    cwd: folder,
    env: { PATH, ...compileCache },
    stdio: 'inherit',
  });
  t.teardown(() => server.kill());
  await waitForAnswer(origin);
  const [, create = '', token = '', rename = '', list = '', permit = '', register = '', exchange = ''] =
    commands();

  const created = await gatehouse([...wordsOf(create, origin), '--json']);
  t.is(created.code, 0, created.errors);
  const { client, client_secret } = JSON.parse(created.output);
  const { access_token } = JSON.parse(await runLine(token, origin, client.client_id, client_secret));
  t.deepEqual(JSON.parse(await runLine(rename, origin, access_token)), {
    data: { id: '17', name: 'Hill School' },
  });
  const refused = JSON.parse(await runLine(list, origin, access_token));
  t.like(refused, { status: 403, message: 'Missing permission to view schools.' });

  const permitted = await gatehouse(wordsOf(permit.replace('<client-id>', client.client_id), origin));
  t.is(permitted.code, 0, permitted.errors);
  let data: unknown;
  // Within `tokens.revocationLag`, which is seconds; each look starts a shell.
  await until(async () => {
    ({ data } = JSON.parse(await runLine(list, origin, access_token)));
    return data !== undefined;
  }, 250);
  t.deepEqual(data, [{ id: '17', name: 'Hill School' }]);

  const added = await gatehouse([...wordsOf(register, origin), '--json']);
  t.is(added.code, 0, added.errors);
  const app = JSON.parse(added.output);
  const [address = ''] = blocksOf(GUIDE, 'text').map(({ code }) => atOrigin(code.trim(), origin));
  const browser = new Browser();
  const consent = await signIn(browser, await browser.open(address.replace('…', app.client.client_id)));
  t.true(consent.text.includes('Reports is asking for access'), consent.text);
  const connected = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(connected.url.pathname, '/connected');
  const code = connected.url.searchParams.get('code') ?? '';
  const line = exchange.replace('http://localhost:3000/connected', `${origin}/connected`);
  const tokens = JSON.parse(await runLine(line, origin, app.client.client_id, app.client_secret, code));
  t.like(tokens, { token_type: 'Bearer', expires_in: 3600 });
  const apps = await browser.open(`${origin}/account/apps`);
  t.true(apps.text.includes('Reports'));
});

function atOrigin(text: string, origin: string): string {
  return text.replaceAll('http://localhost:3000', origin);
}

/** The lines of the guide's shell blocks, without those that install. */
function commands(): string[] {
  const lines = blocksOf(GUIDE, 'sh').flatMap(({ code }) => code.trim().split('\n'));
  return lines.slice(1);
}

/** The words of a `gatehouse` command, for the database of this test. */
function wordsOf(line: string, origin: string): string[] {
  const words = Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
  return words.slice(2).map((word) =>
    atOrigin(word, origin)
      .replace('sqlite:.', `sqlite:${folder}`)
      .replace(/^gate\.ts$/, join(folder, 'gate.ts')),
  );
}

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { startForScripts, temporaryDirectory } from '../../examples/running-example.ts';
import type { Announced, AnnouncedClient } from '../../examples/running-example.ts';
import { Browser } from '../../harness/browser.ts';
import { freePort } from '../../harness/free-port.ts';
import { postForm, postJson } from '../../harness/requests.ts';
import { RawConnection } from '../../harness/raw-connection.ts';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded', Connection: 'keep-alive' };

function credentialsOf({ clients }: Announced, name: string): AnnouncedClient {
  return clients.find((client) => client.name === name)!;
}

/** Connects an app several times, and returns a refresh token of each. */
async function refreshTokens(announced: Announced, count: number): Promise<string[]> {
  const app = credentialsOf(announced, 'Command line');
  const browser = new Browser();
  const url = new URL('/oauth/authorize', announced.base_url);
  const redirectUri = app.redirect_uris[0]!;
  url.search = String(
    new URLSearchParams({ client_id: app.client_id, redirect_uri: redirectUri, response_type: 'code' }),
  );
  const [{ login, password }] = announced.users as [Announced['users'][0]];
  let page = await browser.open(url);
  page = await browser.follow(await browser.submit(page, 'Sign in', { login, password }));
  const tokens: string[] = [];
  for (let made = 0; made < count; made += 1) {
    // The app is on this machine, so consent is asked for each time.
    const end = await browser.follow(await browser.submit(page, 'Authorize'));
    const code = end.url.searchParams.get('code');
    page = await browser.open(url);
    const { body } = await postJson(`${announced.base_url}/oauth/token`, {
      grant_type: 'authorization_code',
      client_id: app.client_id,
      client_secret: app.client_secret,
      redirect_uri: redirectUri,
      code,
    });
    tokens.push(String(body?.['refresh_token']));
  }
  return tokens;
}

test('SIGTERM during 20 refreshes and a request without an end: sent responses are valid after a restart, and the others can be repeated', async (t) => {
  await using directory = await temporaryDirectory();
  const dataDirectory = directory.path;
  const environment = { PORT: String(await freePort()) };
  const first = await startForScripts({ dataDirectory, environment });
  const { announced } = first;
  const origin = announced.base_url.replace('localhost', '127.0.0.1');
  const app = credentialsOf(announced, 'Command line');
  const formOf = (token: string): string =>
    String(
      new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: app.client_id,
        client_secret: app.client_secret,
        refresh_token: token,
      }),
    );
  const tokens = await refreshTokens(announced, 20);
  const connections = await Promise.all(tokens.map(async () => RawConnection.open(origin)));

  // Seven are complete, seven complete after the signal, and six begin after it.
  for (const [index, connection] of connections.slice(0, 7).entries())
    connection.post('/oauth/token', formOf(tokens[index]!), FORM);
  for (const [index, connection] of connections.slice(7, 14).entries())
    await begin(t, connection, formOf(tokens[7 + index]!));
  const endless = await RawConnection.open(origin);
  await begin(t, endless, formOf('none'));
  const answers = connections.map(async (connection) => connection.answer().catch(() => undefined));
  const signalled = performance.now();
  const ended = first.stop('SIGTERM');
  // The server is stopping when it closes an idle connection.
  await connections[19]!.closed().catch(() => {});
  for (const [index, connection] of connections.entries()) {
    const form = formOf(tokens[index]!);
    if (index >= 14) connection.post('/oauth/token', form, FORM);
    else if (index >= 7) connection.write(form.slice(10));
  }
  await t.throwsAsync(RawConnection.open(origin), { code: 'ECONNREFUSED' });
  await t.throwsAsync(endless.answer(), { message: /^The connection was closed/ });
  const successors = (await Promise.all(answers)).map((answer) => {
    if (answer) t.is(answer.status, 200, answer.body);
    return answer && String(JSON.parse(answer.body).refresh_token);
  });
  t.is(await ended, 0);
  t.true(performance.now() - signalled < 10_000);
  t.deepEqual(
    successors.map((successor) => successor !== undefined),
    tokens.map((_token, index) => index < 14),
  );

  await using second = await startForScripts({ dataDirectory, environment });
  t.is(second.announced.base_url, announced.base_url);
  const again = await Promise.all(
    tokens.map(async (token, index) => postForm(`${origin}/oauth/token`, formOf(successors[index] ?? token))),
  );
  for (const [index, { status, text }] of again.entries()) t.is(status, 200, `${index}: ${text}`);
});

test('SIGINT under load: each response is complete, and the process exits with 0', async (t) => {
  await using directory = await temporaryDirectory();
  const example = await startForScripts({ dataDirectory: directory.path });
  const { base_url: baseUrl } = example.announced;
  const { client_id: id, client_secret: secret } = credentialsOf(example.announced, 'Nightly import');
  const fields = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const enough = Promise.withResolvers<void>();
  let answered = 0;
  const callers = Array.from({ length: 10 }, async () => {
    for (;;) {
      // A connection that was not accepted, or closed between two requests, is no incomplete response.
      const response = await fetch(`${baseUrl}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams(fields),
      }).catch(() => undefined);
      if (!response) return;
      t.is(response.status, 200);
      t.truthy(JSON.parse(await response.text()).access_token);
      answered += 1;
      if (answered === 50) enough.resolve();
    }
  });
  await enough.promise;
  const signalled = performance.now();
  t.is(await example.stop('SIGINT'), 0);
  t.true(performance.now() - signalled < 10_000);
  await Promise.all(callers);
  t.is(await example.errors, '');
});

test('an uncaught exception or rejection: running requests are answered, the log has no message, exit code 1', async (t) => {
  for (const fault of [
    'throw new TypeError("the password is hunter2");',
    'Promise.reject(new TypeError("the password is hunter2"));',
  ]) {
    await using directory = await temporaryDirectory();
    const module = join(directory.path, 'fault.mjs');
    await writeFile(module, `process.on('SIGUSR2', () => { ${fault} });`);
    const example = await startForScripts({
      dataDirectory: directory.path,
      environment: { NODE_OPTIONS: `--import=${module}` },
    });
    const connection = await RawConnection.open(example.announced.base_url.replace('localhost', '127.0.0.1'));
    const form = 'grant_type=client_credentials&client_id=x&client_secret=x';
    await begin(t, connection, form);

    const exited = once(example.process, 'exit');
    example.process.kill('SIGUSR2');
    connection.write(form.slice(10));
    t.is((await connection.answer()).status, 401);
    t.deepEqual(await exited, [1, null]);
    const errors = await example.errors;
    t.regex(errors, /^Uncaught error: TypeError\n {4}at .*fault\.mjs/m);
    t.false(errors.includes('hunter2'));
  }
});

/** Sends the first ten bytes of a form. With 100-continue, the server has received the header. */
async function begin(t: ExecutionContext, connection: RawConnection, form: string): Promise<void> {
  connection.post('/oauth/token', form.slice(0, 10), {
    ...FORM,
    'Content-Length': String(form.length),
    Expect: '100-continue',
  });
  t.is((await connection.answer()).status, 100);
}

import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';

import { readArguments } from '../../../examples/server/arguments.ts';
import { openDatabase } from '../../../examples/server/database.ts';
import { createLetters } from '../../../examples/server/letters/letters.ts';
import { readSettings } from '../../../examples/server/settings.ts';
import { Browser } from '../../harness/browser.ts';
import { signIn } from '../../harness/platform.ts';
import { runExample, startExample, temporaryDirectory } from '../../examples/running-example.ts';
import { listenOn } from '../../harness/serve.ts';

test('every printed command works when pasted into bash; later starts print how to get new secrets', async (t) => {
  await using directory = await temporaryDirectory();
  await using example = await startExample({ dataDirectory: directory.path, arguments: ['--curl'] });
  // It is no terminal.
  t.false(example.output.includes('\u001B'));
  const [, commands = ''] = /In a terminal\n(.*)\nUsers\n/s.exec(example.output) ?? [];
  t.true(commands.split('\n').filter((line) => line.includes('curl ')).length >= 8);
  const words = ['--norc', '-euo', 'pipefail', '-c', commands];
  const { stdout, stderr } = await promisify(execFile)('bash', words);
  t.is(stderr, '');
  const answers = stdout.trim().split('\n');
  t.is(answers.length, 7);
  const [machine, schools, refused, person, identity, refreshed, sameIdentity] = answers.map((line) =>
    JSON.parse(line),
  );
  t.false('refresh_token' in machine);
  t.is(schools.data.length, 6);
  t.is(refused.message, 'Missing permission to view schools.');
  t.is(identity.data.email, 'ruth@platform.example');
  t.not(refreshed.access_token, person.access_token);
  t.deepEqual(sameIdentity, identity);

  t.is(await example.stop(), 0);
  await using second = await startExample({ dataDirectory: directory.path });
  t.regex(second.output, /npm start -- --new-secrets creates new ones/);
  t.notRegex(second.output, /gatehouse_secret_/);
  t.is(await second.stop(), 0);
  await using third = await startExample({
    dataDirectory: directory.path,
    arguments: ['--curl', '--new-secrets'],
  });
  t.true(third.output.includes('curl ') && third.output.includes('gatehouse_secret_'));
});

test('without options a start ends with the page to open and a user, whose password works, on less than a screen', async (t) => {
  await using directory = await temporaryDirectory();
  await using example = await startExample({ dataDirectory: directory.path });
  const lines = example.output.trimEnd().split('\n');
  t.true(lines.length <= 24, String(lines.length));
  t.notRegex(example.output, /\bcurl -[^-]|gatehouse_secret_/);
  const [, portal, login, password] =
    /^Open (\S+), press Connect, and sign in with (\S+) and the password (\S+)\.$/.exec(lines.at(-1)!) ?? [];
  const browser = new Browser();
  const [, link = ''] = /href="([^"]+)">Connect</.exec((await browser.open(portal!)).html) ?? [];
  const consent = await signIn(browser, await browser.open(link), login, password);
  t.is(consent.heading, 'Authorize Partner portal');
});

test('an invalid start ends with one sentence', async (t) => {
  await using directory = await temporaryDirectory();
  await using taken = await listenOn(createServer());
  const run = async (given: readonly string[], environment: Record<string, string> = {}) =>
    runExample({ dataDirectory: directory.path, arguments: given, environment });

  const unknown = await run(['--colour']);
  t.is(unknown.code, 2);
  t.regex(unknown.errors, /^Unknown option '--colour'\n\nUsage: npm start/);
  const help = await run(['--help']);
  t.is(help.code, 0);
  t.regex(help.output, /^Usage: npm start/);
  const badPort = await run([], { PORT: 'http' });
  t.deepEqual(badPort, { code: 1, output: '', errors: 'PORT: give a number from 0 to 65535, not "http".\n' });
  const elsewhere = await run([], { HOST: '192.0.2.1' }); // of no machine (RFC 5737)
  t.is(elsewhere.code, 1);
  t.regex(elsewhere.errors, /^listen EADDRNOTAVAIL.* 192\.0\.2\.1.*: give another HOST or PORT\.\n$/);
  const occupied = await run([], { PORT: String(taken.port) });
  t.is(occupied.code, 1);
  t.regex(occupied.errors, /address already in use.*PORT=0 npm start.*\n$/);

  t.throws(() => readArguments(['--redirect-uri', '/callback']), {
    message: /^--redirect-uri takes an absolute URL/,
  });
  t.throws(() => readArguments(['--workers', '0']), {
    message: '--workers takes a number from 1 to 99, not "0"',
  });
  t.throws(() => createLetters({ CHROMIUM_SANDBOX: 'off' }), {
    message: 'CHROMIUM_SANDBOX: give true or false, not "off".',
  });
  t.throws(() => readSettings({ BASE_URL: 'platform.example' }), { message: /^BASE_URL: give an http or/ });
  await t.throwsAsync(openDatabase('oracle:here'), { message: /^DATABASE_URL: / });
});

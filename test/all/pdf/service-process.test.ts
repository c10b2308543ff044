import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { PdfClient } from 'koa-gatehouse/pdf';

import { readSettings, SettingsError } from '../../../examples/pdf-service/settings.ts';
import { compileCache } from '../../harness/compile-cache.ts';
import { send } from '../../harness/requests.ts';
import { makePdf } from './make-pdf.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const COMMAND = ['--conditions=gatehouse:source', 'examples/pdf-service/start.js'];

/** Starts the service like `npm run pdf-service`. Resolves when it listens. */
async function start(t: ExecutionContext, environment: Record<string, string>) {
  const { PATH = '' } = process.env;
  const env = { PATH, PORT: '0', ...compileCache, ...environment };
  const child = spawn(process.execPath, COMMAND, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [chunk] = await once(child.stdout, 'data');
  const output = String(chunk);
  return { child, output, baseUrl: /http:\/\/[\d.:]+/.exec(output)?.[0] ?? '' };
}

/** Runs the service until it exits. */
async function fail(
  environment: Record<string, string>,
  words: string[] = [],
): Promise<{ code: unknown; errors: string }> {
  const { PATH = '' } = process.env;
  const settings = { cwd: ROOT, env: { PATH, ...environment } };
  return new Promise((done) => {
    const child = execFile(process.execPath, [...COMMAND, ...words], settings, (_error, output, errors) => {
      done({ code: child.exitCode, errors: output + errors });
    });
  });
}

test('it prints its address, requires the given key, and on SIGTERM finishes the running job', async (t) => {
  const { child, output, baseUrl } = await start(t, { PDF_API_KEY: 'sesame' });
  t.is(output, `The PDF service listens at ${baseUrl}, with the API key of PDF_API_KEY.\n`);
  const exited = once(child, 'exit');
  const pdf = await makePdf(Array.from({ length: 100 }, (_, page) => `Page ${page}`));
  const client = new PdfClient({ baseUrl, apiKey: 'sesame', retries: 0 });
  // Loading pdf.js, for the first job, takes longer than the job.
  await client.extract(await makePdf());
  const tree = client.extract(pdf);
  let running: unknown = 0;
  while (running === 0) running = (await send(`${baseUrl}/health`)).body?.['running'];
  child.kill('SIGTERM');
  t.is((await tree)['number of pages'], 100);
  t.deepEqual(await exited, [0, null]);
});

test('--help prints the settings; a port in use and invalid settings are errors', async (t) => {
  const { code, errors } = await fail({}, ['--help']);
  t.is(code, 0);
  t.regex(errors, /^Usage: npm run pdf-service\n/);
  const { port } = endWith(t, await listenOn(createServer()));
  t.deepEqual(await fail({ PORT: String(port) }), {
    code: 1,
    errors: `listen EADDRINUSE: address already in use 127.0.0.1:${port}. Stop the program that listens there, or choose another port: PORT=0 npm run pdf-service.\n`,
  });
  t.deepEqual(await fail({ PORT: 'http' }), {
    code: 1,
    errors: 'PORT: give a whole number from 0 to 65535, not "http".\n',
  });
  for (const [environment, message] of [
    [{ PDF_FETCH_URLS: 'yes' }, 'PDF_FETCH_URLS: give off, public or any.'],
    [{ PDF_WORKERS: '0' }, 'PDF_WORKERS: give a whole number from 1 to 64, not "0".'],
  ] as const)
    t.throws(() => readSettings(environment), { instanceOf: SettingsError, message });
});

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import test from 'ava';

import { TREE, faultServer, json } from './fault-server.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** A project with the package installed, without Koa. */
const project = await mkdtemp(join(tmpdir(), 'gatehouse-plain-'));
await mkdir(join(project, 'node_modules'));
await symlink(ROOT, join(project, 'node_modules/koa-gatehouse'));
await writeFile(join(project, 'package.json'), '{ "type": "module" }\n');

test.after.always(() => rm(project, { recursive: true }));

async function run(name: string, source: string): Promise<string> {
  await writeFile(join(project, name), source);
  const words = ['--conditions=gatehouse:source', name];
  const { PATH = '' } = process.env;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words, {
    cwd: project,
    env: { PATH },
  });
  return stdout + stderr;
}

test('the client loads its own files, the errors and got, and nothing of the server', async (t) => {
  const output = await run(
    'loaded.js',
    `import { registerHooks } from 'node:module';
     registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) });
     await import('koa-gatehouse/pdf');`,
  );
  const loaded = output.split('\n').filter((url) => url.startsWith('file:'));
  const files = loaded.map((url) => url.slice(`file://${ROOT}/`.length));
  const own = files.filter((file) => !file.startsWith('node_modules/'));
  t.true(own.includes('lib/pdf/index.ts'));
  t.deepEqual(
    own.filter(
      (file) =>
        !/^lib\/(pdf\/.*|errors|options\/(?:declare|values)|contracts\/(?:runtime|duration))\.[jt]s$/.test(
          file,
        ),
    ),
    [],
  );
  const packages = new Set(files.map((file) => /^node_modules\/((@[^/]+\/)?[^/]+)/.exec(file)?.[1]));
  t.true(packages.has('got'));
  for (const name of [
    'koa',
    'koa-router',
    '@koa/router',
    'koa-body',
    'formidable',
    'koa-compose',
    'oidc-provider',
    'jose',
    'ejs',
    'knex',
    'zod',
  ]) {
    t.false(packages.has(name), name);
  }
});

test('the client works in plain JavaScript without Koa', async (t) => {
  await using service = await faultServer(json({}, 503), json(TREE));
  const output = await run(
    'report.js',
    `import { PdfClient, pdfText } from 'koa-gatehouse/pdf';
     const client = new PdfClient({ baseUrl: '${service.origin}', retryDelay: '1 ms' });
     console.log(pdfText(await client.extract(Buffer.from('%PDF-1.7'))));`,
  );
  t.is(output, 'Hello\n');
  t.is(service.received.length, 2);
});

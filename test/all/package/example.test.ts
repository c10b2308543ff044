import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import test from '../../harness/test.ts';

import { runExample, startForScripts } from '../../examples/running-example.ts';
import { postJson, send } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';
import { makePdf } from '../pdf/make-pdf.ts';
import { manifest, ROOT } from './manifest.ts';
import { install, makeProject, npmPack, pack } from './pack.ts';
import { run, runProgram } from './run.ts';

interface ExampleManifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const started = shared(async () => {
  const packed = await pack();
  const built = join(packed.folder, 'example');
  mkdirSync(built);
  const building = await run(process.execPath, [join(ROOT, 'build-example.ts'), built], ROOT);
  if (building.code !== 0) throw new Error(building.errors);
  const example = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as ExampleManifest;
  const [tarball] = await npmPack(built, '--pack-destination', packed.folder);
  const files = tarball!.files.map(({ path }) => path);
  const { [manifest.name]: _own, ...others } = { ...manifest.dependencies, ...example.dependencies };
  /** A folder in which `npx` has installed the package, with its dependencies and theirs, and nothing else. */
  const project = await makeProject(packed, 'npx', { dependencies: Object.keys(others) });
  await install(join(packed.folder, tarball!.filename), example, join(project, 'node_modules'));
  const program = { file: join(project, 'node_modules/.bin/koa-gatehouse-example'), folder: project };
  return { example, files, project, program };
});

test('the example is published in the version of the package, which it depends on', async (t) => {
  const { example, files } = await started();
  t.is(example.version, manifest.version);
  t.is(example.dependencies[manifest.name], manifest.version);
  t.true(files.includes('README.md') && files.includes('LICENSE'));
  t.deepEqual(
    files.filter((file) => file.endsWith('.ts')),
    [],
  );
});

test('npx starts it, and its help names npx', async (t) => {
  const { example, project } = await started();
  const { code, errors, output } = await run('npx', ['--no', '--', example.name, '--help'], project);
  t.is(code, 0, errors);
  t.regex(output, /^Usage: npx koa-gatehouse-example \[options\]\n/);
  t.notRegex(output, /npm start/);
});

test('without the driver of the database, it says how to add it', async (t) => {
  const { project, program } = await started();
  // Knex is linked here, and would find the driver of the checkout.
  const hook = join(project, 'without-pg.mjs');
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module';
     registerHooks({ resolve: (name, context, next) => next(name === 'pg' ? 'a-missing-package' : name, context) });`,
  );
  const environment = {
    DATABASE_URL: 'postgres://ann@localhost/example',
    NODE_OPTIONS: `--import=${pathToFileURL(hook).href}`,
  };
  const { code, errors } = await runExample({ program, dataDirectory: '', environment });
  t.is(code, 1);
  t.is(
    errors,
    'DATABASE_URL: this database needs the package pg: npx -p koa-gatehouse-example -p pg koa-gatehouse-example\n',
  );
});

test('it runs without a checkout: tokens, the API, the portal and the metrics', async (t) => {
  const { program, project } = await started();
  await using running = await startForScripts({ program, dataDirectory: '' });
  const { base_url: baseUrl, clients } = running.announced;
  const { client_id: id, client_secret: secret } = clients.find(({ name }) => name === 'Nightly import')!;
  const issued = await postJson(`${baseUrl}/oauth/token`, {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  });
  t.is(issued.status, 200, issued.text);
  const authorization = `Bearer ${String(issued.body?.['access_token'])}`;
  t.is((await send(`${baseUrl}/api/v1/schools`, { headers: { authorization } })).status, 200);
  const portal = await send(`${baseUrl}/portal`);
  t.is(portal.status, 200);
  t.true(portal.text.includes('Connect'));
  const start = await send(`${baseUrl}/`);
  t.true(start.text.includes('href="/metrics"'));
  const metrics = await send(`${baseUrl}/metrics`);
  t.is(metrics.status, 200);
  t.regex(metrics.text, /^gatehouse_tokens_issued_total\{grant_type="client_credentials"\} 1$/m);
  const credentials = join(realpathSync(project), 'gatehouse-example-data/partner-portal.json');
  t.true(readFileSync(credentials, 'utf8').includes('clientSecret'));
});

test('its PDF service reads a PDF in a thread', async (t) => {
  const { project } = await started();
  const pdf = (await makePdf(['Timetable'])).toString('base64');
  const output = await runProgram(
    project,
    'pdf.js',
    `import { PdfClient, pdfText } from 'koa-gatehouse/pdf';
     import { startPdfService } from './node_modules/koa-gatehouse-example/pdf-service/service.js';
     const service = await startPdfService({ port: 0, apiKey: 'key' });
     const client = new PdfClient({ baseUrl: service.url, apiKey: 'key' });
     const input = Buffer.from('${pdf}', 'base64');
     console.log(pdfText(await client.extract(input)).split('\\n')[0]);
     console.log((await client.render(input, { page: 1, format: 'png' })).contentType);
     await service.stop();`,
  );
  t.is(output, 'Timetable\nimage/png\n');
});

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import test from '../../harness/test.ts';

import { runQuickStart } from '../../harness/quick-start.ts';
import { postJson, send } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';
import { apiReport } from './api-report.ts';
import { manifest, ROOT, specifiers } from './manifest.ts';
import { filesOfCheckout, makeProject, pack } from './pack.ts';
import { referenceProgram } from './reference.ts';
import { run, runProgram } from './run.ts';

const BIN = join(ROOT, 'node_modules/.bin');

const started = shared(async () => {
  const packed = await pack();
  const project = await makeProject(packed, 'project');
  const installed = join(project, 'node_modules', manifest.name);
  /** A project with all optional packages. */
  const complete = await makeProject(packed, 'complete', {
    dependencies: [...Object.keys(manifest.dependencies), 'knex', 'better-sqlite3', 'prom-client'],
  });
  return { packed, project, installed, complete };
});

test('publint reports nothing', async (t) => {
  const { packed } = await started();
  const { code, output } = await run(join(BIN, 'publint'), ['--strict', packed.tarball], packed.folder);
  t.is(code, 0, output);
});

test('the types are found with every module resolution of ES modules', async (t) => {
  const { packed } = await started();
  // It loads a compiler.
  const { checkPackage, createPackageFromTarballData } = await import('@arethetypeswrong/core');
  const found = await checkPackage(createPackageFromTarballData(readFileSync(packed.tarball)));
  const problems = found.types ? found.problems : [];
  t.not(found.types, false);
  t.deepEqual(
    // The package has no CommonJS.
    problems.filter(
      (problem) =>
        !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
    ),
    [],
  );
});

test('the tarball contains the required files and no others', async (t) => {
  const { packed } = await started();
  const surplus = packed.files.filter(
    (file) =>
      !/^(package\.json|(CHANGELOG|README|SECURITY)\.md|LICENSE|lib\/contracts\/runtime\.js)$/.test(file) &&
      !/^(docs\/[\w-]+\.(md|png)|examples\/[\w-]+\.ts)$/.test(file) &&
      !/^dist\/(lib|adapters|interactions)\/[\w/-]+(\.d\.ts|\.js)$/.test(file) &&
      !/^interactions\/(views|public)\/[\w/-]+\.(ejs|css|js|svg)$/.test(file) &&
      !/^interactions\/text\/\w+\.ts$/.test(file) &&
      !/^lib\/features\/[\w-]+\/(texts\.ts|views\/[\w/-]+\.ejs)$/.test(file) &&
      !/^monitoring\/[\w.-]+\.(yml|json)$/.test(file),
  );
  t.deepEqual(surplus, []);
  for (const file of [
    'LICENSE',
    'README.md',
    'interactions/views/login.ejs',
    ...Object.values(manifest.bin),
  ]) {
    t.true(packed.files.includes(file.replace(/^\.\//, '')), file);
  }
  t.deepEqual(
    packed.files.filter((file) => !file.startsWith('dist/')).toSorted(),
    (await filesOfCheckout()).toSorted(),
    'name what lacks in files of package.json',
  );
  t.regex(readFileSync(join(ROOT, 'LICENSE'), 'utf8'), /^MIT License\n\nCopyright \(c\) .*\n/);
});

test('every import specifier works without the sources', async (t) => {
  const { complete } = await started();
  const all = specifiers.map((specifier) => `import '${specifier}';`).join(' ');
  t.is(await runProgram(complete, 'app.js', all), '');
});

test('an SQLite file needs no Knex; other databases are an error that names the package', async (t) => {
  const { packed } = await started();
  const light = await makeProject(packed, 'light', {
    dependencies: [...Object.keys(manifest.dependencies), 'better-sqlite3'],
  });
  const source = `
    import { knexStorage } from 'koa-gatehouse/adapters/knex';
    const storage = knexStorage('data.db');
    await storage.migrate();
    console.log((await storage.pendingMigrations()).length);
    for (const attempt of [() => storage.transaction(async () => {}), () => knexStorage('postgres://ann@host/name')]) {
      await new Promise((done) => done(attempt())).catch(({ code, message }) => console.log(code, message));
    }
    await storage.close();`;
  const needsKnex = 'ERR_CONFIG storage: this database needs the package knex; run `npm install knex`';
  t.is(await runProgram(light, 'light.js', source), `0\n${needsKnex}\n${needsKnex}\n`);
  const passport = `
    import { laravelPassportSource } from 'koa-gatehouse';
    await laravelPassportSource('mysql://ann@host/name').check().catch(({ code, message }) => console.log(code, message));`;
  t.is(await runProgram(light, 'passport.js', passport), `${needsKnex}\n`);
});

test('no declaration that the main entry point leads to names Knex, which a host may not have', async (t) => {
  const { installed } = await started();
  const reached = new Set<string>();
  const open = [join(installed, 'dist/lib/index.d.ts')];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    const text = readFileSync(file, 'utf8');
    t.notRegex(text, /(?:from|import)[ (]+["']knex/, file);
    for (const [, path = ''] of text.matchAll(/(?:from|import)[ (]+["'](\.[^"']+)\.ts["']/g))
      open.push(join(dirname(file), `${path}.d.ts`));
  }
  t.true(reached.size > 100, String(reached.size));
});

// With an old Node of the machine, if there is one: it also parses and links, which a changed version string does not test.
const old = [process.env['OLD_NODE'], '/usr/bin/node', '/usr/local/bin/node']
  .filter((node): node is string => node !== undefined && existsSync(node))
  .map((node) => ({ node, version: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1) }))
  .find(({ version }) => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major < 22 || (major === 22 && minor < 20);
  });

if (old) {
  const { node, version } = old;
  test(`old Node ${version} prints one sentence`, async (t) => {
    const { installed, complete, project } = await started();
    const bin = join(installed, manifest.bin['gatehouse']!);
    for (const [folder, ...words] of [
      ...specifiers.map((specifier) => [complete, '--input-type=module', '--eval', `import '${specifier}';`]),
      [project, bin, 'migrate'],
      [ROOT, '--conditions=gatehouse:source', 'examples/server/start.js'],
    ] as [string, ...string[]][])
      t.deepEqual(await run(node, words, folder), {
        code: 1,
        output: '',
        errors: `koa-gatehouse needs Node.js 22.20 or newer (24 is recommended), but this process runs v${version} (${node}).\n`,
      });
  });
} else {
  console.warn('SKIPPED, there is no old Node: set OLD_NODE to the path of one below 22.20, such as v20');
  test.skip('old Node: set OLD_NODE to the path of one below 22.20, such as v20', () => {});
}

// The size of the download. Raise a limit when an addition is worth it.
test('the package is within its size limits', async (t) => {
  const { packed } = await started();
  t.true(packed.size < 780_000, `the tarball has ${packed.size} bytes`);
  t.true(packed.unpackedSize < 2_720_000, `unpacked it has ${packed.unpackedSize} bytes`);
  t.true(packed.files.length < 1100, `it has ${packed.files.length} files`);
});

test('installed in an empty project, the quick start of the README runs', async (t) => {
  const { project } = await started();
  const { client, origin } = await runQuickStart(t, project);
  const issued = await postJson(`${origin}/oauth/token`, { grant_type: 'client_credentials', ...client });
  t.is(issued.status, 200, issued.text);
  const authorization = `Bearer ${String(issued.body?.['access_token'])}`;
  const schools = await send(`${origin}/api/v1/schools`, { headers: { authorization } });
  t.deepEqual(schools.body, { data: [{ id: 1, name: 'Hill School' }] });
});

test('the command is installed', async (t) => {
  const { project } = await started();
  const { code, output } = await run('npx', ['--no', '--', 'gatehouse', '--help'], project);
  t.is(code, 0);
  t.regex(output, /^Usage: gatehouse /);
  const words = ['--no', '--', 'gatehouse', 'migrate', '--database', 'sqlite:x.db'];
  const migrated = await run('npx', words, project);
  t.is(migrated.code, 0, migrated.errors);
});

// The metrics need prom-client, which the app has installed.
const required = specifiers.filter((specifier) => !specifier.endsWith('/metrics'));

test('a CommonJS project can require the package', async (t) => {
  const { packed } = await started();
  const folder = await makeProject(packed, 'commonjs', { type: 'commonjs' });
  const output = await runProgram(
    folder,
    'app.js',
    `const names = ${JSON.stringify(required)}.map((name) => [name, Object.keys(require(name))]);
     const { createAuthServer, defineGate } = require('koa-gatehouse');
     const { memoryStorage } = require('koa-gatehouse/adapters/memory');
     const { pages } = require('koa-gatehouse/interactions');
     createAuthServer({
       issuer: 'http://localhost:3000',
       users: { verifyPassword: async () => undefined, find: async () => undefined },
       storage: memoryStorage(),
       interactions: pages(),
       gate: defineGate({ permissions: {} }),
     }).then(async (auth) => {
       console.log(names.every(([, all]) => all.length > 0), auth.issuer);
       await auth.close();
     });`,
  );
  t.is(output, 'true http://localhost:3000\n');
});

test('the PDF client needs no package of the server', async (t) => {
  const { packed } = await started();
  const folder = await makeProject(packed, 'pdf', { dependencies: ['got'] });
  const output = await runProgram(
    folder,
    'app.js',
    `import { registerHooks } from 'node:module';
     const loaded = new Set();
     registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
     const { PdfClient } = await import('koa-gatehouse/pdf');
     console.log(typeof PdfClient, [...loaded].filter((url) => /node_modules.(koa|oidc-provider|knex|ejs)\\//.test(url)));
     await import('koa-gatehouse').catch((error) => console.log(error.code));`,
  );
  t.is(output, 'function []\nERR_MODULE_NOT_FOUND\n');
});

test('HTML to PDF needs none of the server’s packages, and loads got and playwright-core with the first document only', async (t) => {
  const { packed } = await started();
  const folder = await makeProject(packed, 'html-pdf', { dependencies: ['got'] });
  const output = await runProgram(
    folder,
    'app.js',
    `import { registerHooks } from 'node:module';
     const loaded = new Set();
     registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
     const packages = () => ['koa', 'oidc-provider', 'knex', 'ejs', 'got', 'playwright-core']
       .filter((name) => [...loaded].some((url) => url.includes('/node_modules/' + name + '/')));
     const { createHtmlToPdf, gotenbergHtmlToPdf } = await import('koa-gatehouse/html-pdf');
     const chromium = createHtmlToPdf({ executablePath: process.execPath, sandbox: false });
     const gotenberg = gotenbergHtmlToPdf({ baseUrl: 'http://127.0.0.1:9', retries: 0 });
     console.log(packages());
     await chromium.convert('').catch(({ code, message }) => console.log(code, message));
     console.log(packages());
     await gotenberg.convert('').catch(({ code }) => console.log(code));
     console.log(packages());`,
  );
  t.is(
    output,
    `[]
ERR_CONFIG createHtmlToPdf(): install playwright-core: npm install playwright-core
[]
ERR_PDF_CONNECTION
[ 'got' ]
`,
  );
});

test('the SDK of the Model Context Protocol is loaded with the first endpoint only; without it, an error names it', async (t) => {
  const { complete } = await started();
  const output = await runProgram(
    complete,
    'agents.js',
    `import { registerHooks } from 'node:module';
     const asked = new Set();
     registerHooks({ resolve: (name, context, next) => (asked.add(name), next(name, context)) });
     const { createAuthServer, defineAction, defineGate } = await import('koa-gatehouse');
     const { memoryStorage } = await import('koa-gatehouse/adapters/memory');
     const { createMcpEndpoint } = await import('koa-gatehouse/mcp');
     const schema = { '~standard': { validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: 'object' }), output: () => ({}) } } };
     const ping = defineAction({
       type: 'school', name: 'ping-action', level: 'collection', title: 'Ping', permission: 'view_schools', mcp: true,
       input: schema, output: schema, run: () => null,
     });
     const issuer = 'http://localhost:3000';
     const auth = await createAuthServer({
       issuer,
       users: { verifyPassword: async () => undefined, find: async () => undefined },
       storage: memoryStorage(),
       interactions: () => ({ middleware: async () => {}, error: async () => {} }),
       gate: defineGate({ permissions: { view_schools: 'View schools' } }),
       resources: { [issuer + '/mcp']: {} },
     });
     const isAsked = () => [...asked].some((name) => name.startsWith('@modelcontextprotocol/'));
     console.log(isAsked());
     await createMcpEndpoint({ auth, actions: [ping] }).catch(({ code, message }) => console.log(code, message));
     console.log(isAsked());
     await auth.close();`,
  );
  t.is(
    output,
    `false
ERR_CONFIG createMcpEndpoint(): install @modelcontextprotocol/server: npm install @modelcontextprotocol/server
true
`,
  );
});

test('a server without its own pages loads the bundled pages, another does not', async (t) => {
  const { complete } = await started();
  const output = await runProgram(
    complete,
    'pages.js',
    `import { registerHooks } from 'node:module';
     const loaded = new Set();
     registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
     const hasEjs = () => [...loaded].some((url) => /node_modules.ejs\\//.test(url));
     const { createAuthServer } = await import('koa-gatehouse');
     const { memoryStorage } = await import('koa-gatehouse/adapters/memory');
     const noUser = async () => undefined;
     const least = { issuer: 'http://localhost:3000', users: { verifyPassword: noUser, find: noUser }, storage: memoryStorage() };
     const own = await createAuthServer({ ...least, interactions: () => ({ middleware: noUser, error: noUser }) });
     console.log(hasEjs());
     const bundled = await createAuthServer(least);
     console.log(hasEjs());
     await own.close();
     await bundled.close();`,
  );
  t.is(output, 'false\ntrue\n');
});

const COMPILERS = {
  'TypeScript 7': () => join(BIN, 'tsc'),
  'TypeScript 5.9': () => referenceProgram('tsc'),
};

// The declarations must infer the same as the sources, with each compiler and resolution. The declarations themselves are
// checked once.
for (const [compiler, module, moduleResolution, skipLibCheck] of [
  ['TypeScript 7', 'nodenext', 'nodenext', false],
  ['TypeScript 7', 'esnext', 'bundler', true],
  ['TypeScript 5.9', 'nodenext', 'nodenext', true],
] as const) {
  test(`the type tests pass with the declarations: ${compiler}, ${moduleResolution}`, async (t) => {
    const { packed } = await started();
    const folder = await makeProject(packed, `types-${compiler.replace(/\D/g, '')}-${moduleResolution}`, {
      dependencies: [...Object.keys(manifest.dependencies), 'knex', 'zod', '@types/node'],
    });
    cpSync(join(ROOT, 'test/types'), join(folder, 'types'), { recursive: true });
    const compilerOptions = {
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      types: ['node'],
      module,
      moduleResolution,
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck,
      noUncheckedIndexedAccess: true,
      allowImportingTsExtensions: true,
      noEmit: true,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['types'] }));
    const { output } = await run(COMPILERS[compiler](), ['-p', '.'], folder);
    t.is(output, '');
  });
}

test('the API report matches the declarations', async (t) => {
  const { installed } = await started();
  const report = readFileSync(join(ROOT, 'test/api-report.md'), 'utf8');
  t.is(apiReport(installed), report, 'look at what has changed, then: npm run api-report');
});

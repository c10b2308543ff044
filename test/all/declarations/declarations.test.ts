import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import test from '../../harness/test.ts';

import { build } from '../package/build.ts';
import { manifest, ROOT } from '../package/manifest.ts';
import { run } from '../package/run.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-declarations-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

// Installed: the compiler finds nothing but what `exports` says, and no source.
const modules = join(folder, 'node_modules');
const installed = join(modules, manifest.name);
await build(installed);
cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
for (const name of [...Object.keys(manifest.dependencies), '@types/node', 'knex', 'prom-client', 'zod']) {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
}
cpSync(join(import.meta.dirname, 'consumer'), join(folder, 'src'), { recursive: true });
writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));

const COMPILERS = {
  'TypeScript 7': join(ROOT, 'node_modules/.bin/tsc'),
  'TypeScript 5.9': join(ROOT, 'docs/reference/node_modules/.bin/tsc'),
};

/** Emits the declarations of files of the consumer, and returns what the compiler says. */
async function emit(
  compiler: keyof typeof COMPILERS,
  moduleResolution: 'bundler' | 'nodenext',
  files: readonly string[],
): Promise<{ readonly declarations: string; readonly errors: string }> {
  const name = `${compiler}-${moduleResolution}-${files.join('-')}`.replaceAll(/\W+/g, '-');
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
    module: moduleResolution === 'bundler' ? 'esnext' : moduleResolution,
    moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: 'src',
    outDir: name,
  };
  const config = `${name}.json`;
  writeFileSync(
    join(folder, config),
    JSON.stringify({ compilerOptions, files: files.map((file) => `src/${file}.ts`) }),
  );
  const { output } = await run(COMPILERS[compiler], ['-p', config, '--pretty', 'false'], folder);
  const emitted = globSync('*.d.ts', { cwd: join(folder, name) });
  return {
    declarations: emitted.map((file) => readFileSync(join(folder, name, file), 'utf8')).join('\n'),
    errors: output,
  };
}

const CONSUMER = globSync('*.ts', { cwd: join(folder, 'src') }).map((file) => file.replace(/\.ts$/, ''));

for (const compiler of ['TypeScript 7', 'TypeScript 5.9'] as const) {
  for (const moduleResolution of ['nodenext', 'bundler'] as const) {
    test(`a host exports without annotations what the package returns: ${compiler}, ${moduleResolution}`, async (t) => {
      const { errors } = await emit(compiler, moduleResolution, CONSUMER);
      t.is(errors, '');
    });
  }
}

for (const alone of ['pdf', 'html-pdf']) {
  test(`so does one that imports only koa-gatehouse/${alone}`, async (t) => {
    const { errors } = await emit('TypeScript 7', 'nodenext', [alone]);
    t.is(errors, '');
  });
}

test('a name is in koa-gatehouse/types only because the compiler writes it for a host', async (t) => {
  const { declarations } = await emit('TypeScript 7', 'nodenext', CONSUMER);
  const source = readFileSync(join(installed, 'dist/lib/types.d.ts'), 'utf8');
  const names = Array.from(
    source.matchAll(/export type \{([^}]*)\}/g),
    ([, list = '']) => list.match(/\w+/g) ?? [],
  );
  const inline = declarations.matchAll(/import\("koa-gatehouse\/types"\)\.(\w+)/g);
  const imported = declarations.matchAll(/import (?:type )?\{([^}]*)\} from ['"]koa-gatehouse\/types['"]/g);
  const written = new Set([
    ...Array.from(inline, ([, name]) => name),
    ...Array.from(imported, ([, list = '']) => list.match(/\w+/g) ?? []).flat(),
  ]);
  t.deepEqual(
    names.flat().filter((name) => !written.has(name)),
    [],
    'take these names out of lib/types.ts',
  );
});

test('each function and class of the package is used by the host of these tests', async (t) => {
  const text = CONSUMER.map((name) => readFileSync(join(folder, 'src', `${name}.ts`), 'utf8')).join('\n');
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string' || entry === './types') continue;
    const values = Object.keys((await import(manifest.name + entry.slice(1))) as object);
    for (const name of values.filter((value) => !value.endsWith('Error')))
      t.regex(text, new RegExp(`\\b${name}\\b`), `test/all/declarations/consumer has nothing of ${name}`);
  }
});

// TypeScript finds the types of a package beside its real path.
const expressFolder = mkdtempSync(join(tmpdir(), 'gatehouse-express-'));
process.once('exit', () => rmSync(expressFolder, { recursive: true, force: true }));

test('a strict project with Express compiles without the types of Koa', async (t) => {
  const own = join(expressFolder, 'node_modules', manifest.name);
  cpSync(installed, own, { recursive: true });
  const dependencies = Object.keys(manifest.dependencies).filter((name) => !name.startsWith('@types/'));
  for (const name of [
    ...dependencies,
    '@types/node',
    '@types/express',
    '@types/express-serve-static-core',
    'express',
  ]) {
    mkdirSync(dirname(join(expressFolder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(expressFolder, 'node_modules', name));
  }
  writeFileSync(join(expressFolder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  writeFileSync(join(expressFolder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
  const compile = async (app: string): Promise<string> => {
    writeFileSync(join(expressFolder, 'app.ts'), app);
    const { output } = await run(COMPILERS['TypeScript 7'], ['-p', '.', '--pretty', 'false'], expressFolder);
    return output;
  };
  t.is(await compile(EXPRESS_APP), '');
  const wrong = EXPRESS_APP.replace("permissions: ['view_schools']", "permissions: ['view_school']");
  t.regex(await compile(wrong), /"view_school"' is not assignable to type '"view_schools"'/);
});

const EXPRESS_APP = `
import express from 'express';
import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

const ann = { id: '1', name: 'Ann' };
const auth = await createAuthServer({
  issuer: 'https://platform.example',
  users: { verifyPassword: async () => ann, find: async () => ann, permissions: async () => [] },
  storage: memoryStorage(),
  gate: defineGate({ permissions: { view_schools: 'View schools' } }),
});
const app = express();
app.use(auth.callback(await createMcpEndpoint({ auth, actions: [] }), createApiRouter({ auth }).routes()));
app.get('/schools', async (request, response) => {
  const { principal, headers, problem } = await auth.authenticate(request, { permissions: ['view_schools'] });
  if (problem) return void response.status(problem.status).set(problem.headers).send(problem.body);
  response.set(headers).json({ name: principal.user?.name, client: principal.client?.name });
});
app.listen(3000);
`;

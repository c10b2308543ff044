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

import { shared } from '../../harness/shared.ts';
import test from '../../harness/test.ts';

import { build } from '../package/build.ts';
import { manifest, ROOT } from '../package/manifest.ts';
import { referenceProgram } from '../package/reference.ts';
import { run } from '../package/run.ts';

const started = shared(async (stack) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-declarations-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  // Installed: the compiler finds nothing but what `exports` says, and no source.
  const modules = join(folder, 'node_modules');
  const installed = join(modules, manifest.name);
  await build(installed);
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  link(modules, [...Object.keys(manifest.dependencies), '@types/node', 'knex', 'prom-client', 'zod']);
  cpSync(CONSUMER, join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  return { folder, installed };
});

/** Installs packages of this checkout. */
function link(modules: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
}

/** Two tests ask for it. */
let emitting: Promise<Emitted> | undefined;
const emitWithNewest = async (): Promise<Emitted> => (emitting ??= emit('TypeScript 7', 'nodenext', MODULES));

const CONSUMER = join(import.meta.dirname, 'consumer');
const MODULES = globSync('*.ts', { cwd: CONSUMER }).map((file) => file.replace(/\.ts$/, ''));

const COMPILERS = {
  'TypeScript 7': () => join(ROOT, 'node_modules/.bin/tsc'),
  'TypeScript 5.9': () => referenceProgram('tsc'),
};

interface Emitted {
  readonly declarations: string;
  /** What the compiler says. */
  readonly errors: string;
}

/** Emits the declarations of files of the consumer. */
async function emit(
  compiler: keyof typeof COMPILERS,
  moduleResolution: 'bundler' | 'nodenext',
  files: readonly string[],
): Promise<Emitted> {
  const { folder } = await started();
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
  const { output } = await run(COMPILERS[compiler](), ['-p', config, '--pretty', 'false'], folder);
  const emitted = globSync('*.d.ts', { cwd: join(folder, name) });
  return {
    declarations: emitted.map((file) => readFileSync(join(folder, name, file), 'utf8')).join('\n'),
    errors: output,
  };
}

test('a host exports without annotations what the package returns: TypeScript 7, nodenext', async (t) => {
  const { errors } = await emitWithNewest();
  t.is(errors, '');
});

for (const [compiler, moduleResolution] of [
  ['TypeScript 7', 'bundler'],
  ['TypeScript 5.9', 'nodenext'],
  ['TypeScript 5.9', 'bundler'],
] as const) {
  test(`a host exports without annotations what the package returns: ${compiler}, ${moduleResolution}`, async (t) => {
    const { errors } = await emit(compiler, moduleResolution, MODULES);
    t.is(errors, '');
  });
}

for (const alone of ['pdf', 'html-pdf']) {
  test(`so does one that imports only koa-gatehouse/${alone}`, async (t) => {
    const { errors } = await emit('TypeScript 7', 'nodenext', [alone]);
    t.is(errors, '');
  });
}

test('a name is in koa-gatehouse/types only because the compiler writes it for a host', async (t) => {
  const { declarations } = await emitWithNewest();
  const { installed } = await started();
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
  const text = MODULES.map((name) => readFileSync(join(CONSUMER, `${name}.ts`), 'utf8')).join('\n');
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string' || entry === './types') continue;
    const values = Object.keys((await import(manifest.name + entry.slice(1))) as object);
    for (const name of values.filter((value) => !value.endsWith('Error')))
      t.regex(text, new RegExp(`\\b${name}\\b`), `test/all/declarations/consumer has nothing of ${name}`);
  }
});

test('a strict project with Express compiles without the types of Koa', async (t) => {
  const { installed } = await started();
  // TypeScript finds the types of a package beside its real path.
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-express-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, 'node_modules');
  cpSync(installed, join(modules, manifest.name), { recursive: true });
  link(modules, [
    ...Object.keys(manifest.dependencies).filter((name) => !name.startsWith('@types/')),
    '@types/node',
    '@types/express',
    '@types/express-serve-static-core',
    'express',
  ]);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
  const compile = async (app: string): Promise<string> => {
    writeFileSync(join(folder, 'app.ts'), app);
    const { output } = await run(COMPILERS['TypeScript 7'](), ['-p', '.', '--pretty', 'false'], folder);
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

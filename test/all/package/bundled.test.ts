import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import rollupCommonjs from '@rollup/plugin-commonjs';
import rollupJson from '@rollup/plugin-json';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { rollup } from '@rollup/wasm-node';
import test from '../../harness/test.ts';
import { build } from 'esbuild';

import { ROOT } from './manifest.ts';
import { makeProject, pack } from './pack.ts';
import { runProgram } from './run.ts';
import { shared } from '../../harness/shared.ts';

const started = shared(async () => {
  const packed = await pack();
  const project = await makeProject(packed, 'to-bundle');
  return { packed, project };
});

/** A host that is bundled: `createAuthServer()` with its pages on an SQLite file, a token, a guarded route and the login page. */
const HOST = `
import { once } from 'node:events';
import { createServer } from 'node:http';
import Koa from 'koa';
import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

async function main() {
  const server = createServer();
  await once(server.listen(0, 'localhost'), 'listening');
  const issuer = 'http://localhost:' + server.address().port;
  const auth = await createAuthServer({
    issuer,
    users: { verifyPassword: async () => undefined, find: async () => undefined, permissions: async () => [] },
    storage: knexStorage('sqlite::memory:'),
    migrate: true,
    gate: defineGate({ permissions: { view_schools: 'View schools' } }),
  });
  const api = createApiRouter({ auth });
  api.post('/schools', auth.requires('view_schools'), (ctx) => { ctx.body = ctx.request.body; });
  server.on('request', new Koa().use(auth.middleware()).use(api.routes()).callback());
  const { client } = await auth.clients.create({ name: 'Sync', grantType: 'client_credentials', permissions: ['view_schools'] });
  const authorization = 'Bearer ' + (await auth.issueToken({ clientId: client.id }));
  const headers = { authorization, 'content-type': 'application/json' };
  const schools = await fetch(issuer + '/api/v1/schools', { method: 'POST', headers, body: '{"name":"Hill School"}' });
  console.log(schools.status, await schools.text());
  const login = await fetch(issuer + '/oauth/login');
  const page = await login.text();
  const style = await fetch(issuer + /href="([^"]+\\.css)"/.exec(page)[1]);
  console.log(login.status, page.includes('Sign in'), style.status);
  server.closeAllConnections();
  server.close();
  await auth.close();
}
main();
`;

// Their declarations describe the namespace of a CommonJS module.
const commonjs = rollupCommonjs as unknown as typeof rollupCommonjs.default;
const json = rollupJson as unknown as typeof rollupJson.default;

// Native modules and what they load by name cannot be bundled.
const external = ['better-sqlite3', 'knex', '@opentelemetry/api'];

type Write = (input: string, output: string) => Promise<unknown>;

const byEsbuild =
  (format: 'cjs' | 'esm'): Write =>
  async (input, outfile) =>
    build({
      entryPoints: [input],
      outfile,
      bundle: true,
      platform: 'node',
      format,
      // CommonJS packages in an ES module call `require`, which an ES module has to make.
      ...(format === 'esm' && {
        banner: {
          js: "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url);",
        },
      }),
      external,
      logLevel: 'silent',
    });

const byRollup: Write = async (input, file) => {
  const plugins = [nodeResolve({ exportConditions: ['node'], preferBuiltins: true }), commonjs(), json()];
  const bundle = await rollup({ input, external, plugins, onLog() {} });
  await bundle.write({ file, format: 'esm', inlineDynamicImports: true });
};

for (const [bundler, format, write] of [
  ['esbuild', 'cjs', byEsbuild('cjs')],
  ['esbuild', 'esm', byEsbuild('esm')],
  // In one format, because it takes several times as long as esbuild.
  ['Rollup', 'esm', byRollup],
] as const) {
  // Serial, because a bundler keeps this process busy, and the programs that other tests run have time limits.
  test.serial(`a host that ${bundler} bundles as ${format} runs, pages included`, async (t) => {
    const { project, packed } = await started();
    const host = join(project, `${bundler}-${format}.js`);
    writeFileSync(host, HOST);
    const folder = join(packed.folder, `${bundler}-${format}`);
    const name = `host.${format === 'cjs' ? 'cjs' : 'mjs'}`;
    await write(host, join(folder, name));
    mkdirSync(join(folder, 'node_modules'));
    for (const beside of ['better-sqlite3', 'knex']) {
      symlinkSync(join(ROOT, 'node_modules', beside), join(folder, 'node_modules', beside));
    }
    t.is(await runProgram(folder, name), '200 {"name":"Hill School"}\n200 true 200\n');
  });
}

import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';

import test from './harness/test.ts';
import { parseSync, Visitor } from 'oxc-parser';
import type { ExportAllDeclaration, ExportNamedDeclaration, Expression } from 'oxc-parser';

const root = posix.join(import.meta.dirname, '..');

/** The folders of the features. */
const FEATURES: readonly string[] = globSync('lib/features/*/', { cwd: root }).map((path) =>
  posix.basename(path),
);

const CORE =
  'lib/access lib/account lib/clients lib/contracts lib/database lib/engine lib/errors lib/findings lib/http lib/keys lib/limits lib/login lib/options lib/outbox lib/record lib/token interactions';

const CONTRACTS_OF_FEATURES = 'lib/features/core lib/features/feature lib/features/tokens';

/**
 * The modules and packages that each module may import. Allowed for all: itself, Node's modules, the types of koa.
 *
 * A module is a folder or a file; the longest match counts. `type:x` allows the types of x only, `public` this package by
 * its public names, `lazy:x` x by `import()` only, `*` any npm package, `computed` a name computed at run time.
 */
const MODULES: Readonly<Record<string, string>> = {
  'lib/database': 'lib/contracts lib/errors lib/features/tables',
  'lib/contracts': 'lib/database/database lib/record/event-rules',
  'lib/contracts/server-parts': 'lib/contracts lib/errors lib/record/event-rules',
  'lib/errors': 'lib/contracts/duration lib/contracts/field-errors',
  'lib/options': 'lib/contracts lib/errors type:oidc-provider',
  'lib/http': 'lib/contracts lib/errors',
  'lib/first-call': 'lib/contracts',
  'lib/record':
    'lib/contracts lib/errors lib/http lib/limits/networks lib/options/declare lru-cache @opentelemetry/api',
  'lib/record/metrics':
    'lib/contracts lib/record/signing-key-age lib/errors lib/http lib/options/declare prom-client #runtime lib/record/event-rules',
  'lib/keys': 'lib/contracts lib/errors lib/options jose',
  'lib/limits': 'lib/contracts lib/errors lib/http lib/keys lib/options lru-cache',
  'lib/clients':
    'lib/contracts lib/errors lib/http lib/keys lib/options/declare bcryptjs lru-cache unhomoglyph',
  'lib/engine':
    'lib/clients lib/contracts lib/errors lib/http lib/keys lib/options oidc-provider jose koa-compose lib/features/tokens',
  'lib/token':
    'lib/clients lib/contracts lib/engine lib/errors lib/http lib/keys lib/options jose type:oidc-provider',
  'lib/login':
    'lib/clients lib/contracts lib/engine lib/errors lib/http lib/keys lib/options lib/token type:oidc-provider',
  // What features do with ends.
  'lib/outbox': 'lib/contracts lib/database lib/http lru-cache',
  // What a feature is, and the lists of those that ship. A feature imports the core, and no other feature.
  'lib/features': `${CORE} type:commander type:oidc-provider`,
  ...Object.fromEntries(
    FEATURES.flatMap((name) => [
      [
        `lib/features/${name}`,
        `${CORE} ${CONTRACTS_OF_FEATURES} lib/first-call jose lru-cache type:oidc-provider`,
      ],
      [`lib/features/${name}/command`, `${CORE} public lib/cli lib/features/${name} commander`],
      [`test/${name}`, `public examples * test lib/testing ${CORE} lib/features/${name}`],
    ]),
  ),
  // The tables of another application, in a database that Knex opens.
  'lib/features/laravel-passport/source': `${CORE} adapters/knex/address adapters/knex/open-database lib/features/laravel-passport type:knex`,
  // What is found wrong with a server over the network.
  'lib/findings': 'lib/contracts lib/errors lib/http',
  'lib/access':
    'lib/clients lib/contracts lib/errors lib/http lib/keys/hash lib/limits lib/options/declare lib/options/resolved-options lib/token/usable-token lib/token/verify-access-token',
  'lib/account':
    'lib/access lib/clients lib/contracts lib/errors lib/http lib/options/declare lib/options/values lib/features/feature lib/record/event-rules',
  'lib/api':
    'lib/access lib/contracts lib/errors lib/first-call lib/http lib/limits lib/options koa-compose koa-router lru-cache lazy:koa-body type:@standard-schema/spec',
  'lib/mcp':
    'lib/access lib/api lib/contracts lib/errors lib/http lib/limits lib/options/declare lib/options/values koa-compose lazy:@modelcontextprotocol/server type:@modelcontextprotocol/server #runtime',
  'lib/server':
    'lib/access lib/account lib/clients lib/contracts lib/engine lib/errors lib/http lib/keys lib/limits lib/login lib/options lib/record lib/findings lib/token koa koa-compose type:oidc-provider lazy:koa-gatehouse/interactions lib/features',
  'lib/contracts/runtime': '',
  'lib/types':
    'lib/access lib/api lib/clients lib/contracts lib/keys lib/server lib/features lib/testing interactions',
  'lib/index':
    'lib/access lib/api lib/clients lib/contracts lib/errors lib/http lib/keys lib/options lib/server lib/token lib/types #runtime lib/features',
  'lib/pdf':
    'lib/contracts/clock lib/contracts/duration lib/errors lib/options/declare lib/options/values got #runtime',
  'lib/html-pdf':
    'lib/contracts/clock lib/contracts/duration lib/errors lib/options/declare lib/options/values lib/pdf type:playwright-core lazy:playwright-core #runtime',
  'lib/testing':
    'lib/access lib/clients lib/contracts lib/database lib/errors lib/options lib/server public koa #runtime lib/features/known',
  'lib/cli':
    'public lib/contracts/client-kinds lib/contracts/devices lib/contracts/duration lib/contracts/key-thumbprint lib/contracts/loopback lib/errors lib/server/administration #runtime commander string-width lib/features/shipped lib/features/known lib/clients/further-fields lib/clients/kinds/core',
  'lib/cli/gate-file': 'lib/cli public computed',
  'adapters/drivers': 'lib/contracts lib/database lib/errors',
  'adapters/drivers/load-better-sqlite3': 'lib/errors adapters/drivers better-sqlite3',
  'adapters/sql': 'lib/contracts lib/database lib/errors lib/options adapters/drivers #runtime',
  'adapters/memory': 'lib/contracts lib/database lib/errors adapters/drivers #runtime',
  'adapters/knex':
    'lib/contracts lib/database lib/errors lib/options/declare lib/options/values adapters/drivers type:knex #runtime',
  'adapters/knex/load-knex': 'lib/errors adapters/drivers knex',
  interactions:
    'lib/contracts lib/errors lib/first-call lib/http lib/options/declare ejs koa-router #runtime',
  examples: 'public *',
  test: 'public examples *',
  bench: 'public test *',
  'bench/server/peer': 'bench computed',
  'bench/soak': 'public bench test *',
  'bench/trials':
    'public lib/contracts/duration lib/contracts/ends lib/features lib/outbox/end-reader lib/testing bench/chromium bench/soak/random test computed *',
  'test/features.test': 'public * test lib/database/table lib/features computed',
  'test/harness/client': 'public lib/testing/complete-client',
  'test/harness/platform': 'public test * lib/testing/test-server',
  'test/harness/public-server': 'public test * lib/server/create-auth-server',
  'test/generated-client': 'public examples * test computed',
  'test/hosts/guide.test': 'public * test computed',
  'test/declarations': 'public * test computed',
  // The guides have the numbers of all modules.
  'test/docs': `public examples * test computed lib/api/limits lib/html-pdf/options lib/pdf/options lib/features ${CORE}`,
  'test/doctor': 'public * test lib/contracts lib/errors lib/keys lib/server',
  'test/oidc':
    'public * test lib/clients lib/contracts lib/engine lib/errors lib/http lib/keys lib/login lib/token',
  'test/ends': 'public * test lib/engine/endpoints',
  'test/record': 'public examples * test lib/features/tables',
  'test/storage': 'lib/contracts lib/errors lib/testing lib/features/known',
  'test/adapters':
    'public * adapters examples lib/contracts lib/database lib/errors lib/features lib/testing test bench/trials',
  'test/interactions': 'public * test lib/features/known lib/features/openid lib/login',
  'test/api': 'public * test lib/features/known',
};

/** Modules whose tests (`test/access/**`, `test/options.test.ts`) may import the module and what it may import. */
const TESTED_FROM_INSIDE = ['interactions'].concat(
  'access account api cli clients engine errors html-pdf http keys limits login options outbox pdf record server token'
    .split(' ')
    .map((name) => `lib/${name}`),
  FEATURES.map((name) => `lib/features/${name}`),
);

interface Import {
  readonly name: string;
  readonly typeOnly: boolean;
  /** `import()`, which loads the module when it runs. */
  readonly lazy: boolean;
}

/** The imports of a file that are not allowed, in words. */
function violations(file: string, source: string): string[] {
  const module = moduleOf(file);
  if (module === undefined) return [`${file} is in no module: add it to the table`];
  return importsOf(file, source)
    .filter((found) => !isAllowed(file, module, found))
    .map(({ name, typeOnly }) => `${file} imports ${typeOnly ? 'types of ' : ''}${name}`);
}

function isAllowed(file: string, own: string, { lazy, name, typeOnly }: Import): boolean {
  if (name.startsWith('node:')) return isBuiltin(name);
  const places = [own, ...allowedIn(own), ...testedBy(file)];
  if (name === COMPUTED) return places.includes('computed');
  if (name.startsWith('.')) {
    const target = posix.join(posix.dirname(file), name);
    return places.some((place) => isIn(target, place));
  }
  if (lazy && !typeOnly && places.includes(`lazy:${name}`)) return true;
  if (name === 'koa-gatehouse' || name.startsWith('koa-gatehouse/')) return places.includes('public');
  const module = /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;
  if (typeOnly && (module === 'koa' || places.includes(`type:${module}`))) return true;
  return places.includes(module) || places.includes('*');
}

function allowedIn(module: string): string[] {
  return MODULES[module]?.split(' ').filter(Boolean) ?? [];
}

/** The path without the folder that says which command runs a test: what a test may import does not depend on it. */
function subjectOf(path: string): string {
  return path.replace(/^test\/(?:all|alone|databases)\//, 'test/');
}

function moduleOf(path: string): string | undefined {
  const modules = Object.keys(MODULES).filter((module) => isIn(subjectOf(path), module));
  return modules.toSorted((a, b) => b.length - a.length)[0];
}

function isIn(path: string, place: string): boolean {
  return path.startsWith(place) && /^(\/|\.[jt]s$|$)/.test(path.slice(place.length));
}

/** The modules that a test file tests, and what they may import; empty for other files. */
function testedBy(file: string): string[] {
  const subject = /^test\/(.*?)(\.test)?\.ts$/.exec(subjectOf(file))?.[1] ?? '';
  const tested = TESTED_FROM_INSIDE.filter(
    (module) =>
      isIn(subject, module) || isIn(`lib/${subject}`, module) || isIn(`lib/features/${subject}`, module),
  );
  return tested.flatMap((module) => allowedIn(module).concat(module));
}

const COMPUTED = 'a computed name';

/** Every import of a source: static, type, re-export, `import()` as a call or a type, `require()`. */
function importsOf(file: string, source: string): Import[] {
  const found: Import[] = [];
  function add(name: Expression, { typeOnly = false, lazy = false } = {}): void {
    found.push({ name: nameIn(name), typeOnly, lazy });
  }
  function exported({ source: name, exportKind }: ExportAllDeclaration | ExportNamedDeclaration): void {
    if (name) add(name, { typeOnly: exportKind === 'type' });
  }
  new Visitor({
    ImportDeclaration: ({ source: name, importKind }) => add(name, { typeOnly: importKind === 'type' }),
    ExportAllDeclaration: exported,
    ExportNamedDeclaration: exported,
    ImportExpression: ({ source: name }) => add(name, { lazy: true }),
    TSImportType: ({ source: name }) => add(name, { typeOnly: true }),
    CallExpression({ callee, arguments: [name] }) {
      if (callee.type === 'Identifier' && callee.name === 'require') add(name as Expression);
    },
  }).visit(parseSync(file, source).program);
  return found;
}

/** The text of a name that is written as one, without an expression in it. */
function nameIn(name: Expression): string {
  return name.type === 'Literal' ? String(name.value) : COMPUTED;
}

test('every import follows the table of modules', async (t) => {
  const files = globSync(
    '{lib,adapters,interactions,examples,test,bench,soak,trials}/**/*.{ts,js,mts,mjs,cts,cjs}',
    {
      cwd: root,
      exclude: ['**/node_modules/**'],
    },
  );
  t.true(files.length > 50);
  const found = await Promise.all(
    files.map(async (file) => violations(file, await readFile(`${root}/${file}`, 'utf8'))),
  );
  t.deepEqual(
    found.flat(),
    [],
    'import something else, or say that the module may, in MODULES at the top of test/modules.test.ts',
  );
});

test('every kind of import that the table does not allow is found', (t) => {
  const source = `
    import 'a';
    import b, { type B } from "b";
    import type { C } from 'c';
    export { d } from 'd';
    export type * from 'e';
    export * as f from 'f';
    const g = await import('g');
    let h: import('h').H;
    function i(x: typeof import('i')): void {}
    const j = require('j');
    const k = \`\${await import('k')} from 'no' \${\`\${import('l')}\`}\`;
    import {
      type N, // from 'no'
    } from 'n';
  `;
  const file = 'lib/access/gate.ts';
  const found = [
    'a',
    'b',
    'types of c',
    'd',
    'types of e',
    'f',
    'g',
    'types of h',
    'types of i',
    'j',
    'k',
    'l',
    'n',
  ];
  t.deepEqual(
    violations(file, source),
    found.map((name) => `${file} imports ${name}`),
  );
  t.deepEqual(violations('lib/api/router.ts', 'await import(`kn${"ex"}`);'), [
    `lib/api/router.ts imports ${COMPUTED}`,
  ]);
  for (const [from, name] of [
    [file, 'knex'],
    [file, 'koa'],
    [file, '../oidc/provider.ts'],
    ['lib/api/router.ts', '../server/create-auth-server.ts'],
    ['lib/http/problem.ts', 'fs'],
    ['lib/options/options.ts', 'oidc-provider'],
    ['lib/pdf/client.ts', '../contracts.ts'],
    ['lib/server/create-auth-server.ts', 'koa-gatehouse/interactions'],
    ['adapters/memory/index.ts', 'knex/lib/client.js'],
    ['interactions/page.ts', 'koa-gatehouse'],
    ['test/access/guard.test.ts', '../../lib/api/router.ts'],
  ] as const)
    t.deepEqual(violations(from, `import { a } from '${name}';`), [`${from} imports ${name}`]);
  t.deepEqual(violations('scripts/a.ts', ''), ['scripts/a.ts is in no module: add it to the table']);
});

/** Where a source reads the query of a URL, in words. */
function queryReads(file: string, source: string): string[] {
  const found: string[] = [];
  const note = (name: string | undefined): void => {
    if (name !== undefined && READ_OF_QUERY.has(name)) found.push(`${file} reads ${name}`);
  };
  new Visitor({
    MemberExpression({ property, computed }) {
      if (!computed) note(property.type === 'Identifier' ? property.name : undefined);
      else if (property.type === 'Literal') note(String(property.value));
    },
    ObjectPattern({ properties }) {
      for (const property of properties)
        if (property.type === 'Property' && property.key.type === 'Identifier') note(property.key.name);
    },
  }).visit(parseSync(file, source).program);
  return found;
}

const READ_OF_QUERY: ReadonlySet<string> = new Set(['query', 'querystring']);

test('the parameters of an authorization request are read in one place', async (t) => {
  const place = 'lib/engine/authorization-parameters.ts';
  const files = globSync('lib/{engine,login,registration,token,features/*}/**/*.ts', { cwd: root });
  t.true(files.includes(place));
  const found = await Promise.all(
    files.map(async (file) => queryReads(file, await readFile(`${root}/${file}`, 'utf8'))),
  );
  // Those of the other endpoints for browsers are of their own requests.
  const others = ['lib/features/openid/logout-request.ts', 'lib/features/openid/userinfo.ts'];
  t.deepEqual(
    [...new Set(found.flat())].toSorted(),
    [place, ...others].map((file) => `${file} reads query`),
  );
});

test('the request of a call without a context is found in one place', async (t) => {
  const files = globSync('lib/**/*.ts', { cwd: root });
  const found = await Promise.all(
    files.map(async (file) => {
      const source = await readFile(`${root}/${file}`, 'utf8');
      return FINDS_BY_STORAGE.test(source) ? [file] : [];
    }),
  );
  // The latter leaves the storage, so that the thread pool keeps no request.
  t.deepEqual(found.flat().toSorted(), ['lib/engine/calls-without-context.ts', 'lib/token/token-key.ts']);
});

const FINDS_BY_STORAGE = /\bAsyncLocalStorage\b|\bProvider\.ctx\b|\bctx\b[^;\n]*= Provider;/;

test('every way to read a query is found', (t) => {
  const source = `
    const scope = ctx.query['scope'];
    const { query } = ctx;
    const { request: { querystring: text = '' } } = ctx;
    const all = ctx['query'];
    read(({ query: { prompt } }) => prompt);
    const known = request.parameters.query2;
  `;
  t.deepEqual(
    queryReads('a.ts', source).toSorted(),
    ['query', 'query', 'query', 'query', 'querystring'].map((name) => `a.ts reads ${name}`),
  );
});

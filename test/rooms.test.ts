import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { isBuiltin, stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';

import test from 'ava';

/**
 * What each room may import besides itself, Node's own modules and the types of koa.
 *
 * A room is a file or a folder; the longest name that fits counts. `type:x` is x for its types only, `public` this
 * package by its public names, `*` any npm package, `computed` what is named only at run time.
 */
const ROOMS: Readonly<Record<string, string>> = {
  'lib/contracts': '',
  'lib/errors': '',
  'lib/clock': '',
  'lib/duration': '',
  'lib/runtime': '',
  'lib/request-id': '',
  'lib/observers': 'lib/contracts',
  'lib/telemetry': 'lib/contracts @opentelemetry/api',
  'lib/metrics': 'lib/contracts prom-client #runtime',
  'lib/options': 'lib/contracts lib/duration lib/errors lib/option-checks type:oidc-provider',
  'lib/option-checks': 'lib/contracts lib/duration lib/errors lib/options',
  'lib/http': 'lib/contracts lib/errors lib/request-id raw-body',
  'lib/access': 'lib/agreement lib/contracts lib/errors lib/http/problem lib/http/refusal',
  'lib/agreement': 'lib/contracts',
  'lib/idempotency': 'lib/clock lib/contracts',
  'lib/apps':
    'lib/agreement lib/clock lib/contracts lib/errors lib/idempotency unhomoglyph unicode-match-property-value-ecmascript',
  'lib/audit': 'lib/clock lib/contracts lib/errors lib/http/address',
  'lib/throttle': 'lib/clock lib/contracts lib/errors lib/http/address',
  'lib/api':
    'lib/clock lib/contracts lib/errors lib/idempotency lib/http lib/access lib/request-id koa-compose koa-router type:@standard-schema/spec',
  'lib/engine':
    'lib/agreement lib/clock lib/contracts lib/errors lib/options lib/request-id lib/http/admission lib/http/refusal lib/http/read-bytes oidc-provider bcryptjs jose keygrip koa koa-compose',
  'lib/pdf': 'lib/errors got #runtime',
  'lib/internals': 'lib/engine',
  'lib/testing':
    'lib/clock lib/contracts lib/errors lib/duration lib/options lib/access lib/auth-server lib/internals public koa #runtime',
  'lib/auth-server':
    'lib/contracts lib/duration lib/access lib/engine lib/health lib/http/admission lib/prune lib/shutdown type:oidc-provider',
  'lib/create-auth-server':
    'lib/auth-server lib/contracts lib/errors lib/options lib/option-checks lib/chores lib/create-access lib/create-callback lib/maintenance lib/prune lib/checks lib/health lib/http lib/access lib/apps lib/audit lib/engine lib/internals lib/last-uses lib/shutdown lib/throttle lib/observers lib/telemetry type:oidc-provider',
  'lib/create-access':
    'lib/contracts lib/access lib/engine lib/http/admission lib/last-uses lib/observers lib/options',
  'lib/create-callback': 'lib/contracts lib/http koa',
  'lib/chores': 'lib/contracts lib/engine lib/maintenance lib/options lib/prune',
  'lib/maintenance': 'lib/contracts',
  'lib/prune': 'lib/clock lib/contracts',
  'lib/last-uses': 'lib/contracts',
  'lib/shutdown': 'lib/contracts lib/duration lib/http/admission lib/last-uses lib/option-checks',
  'lib/health': 'lib/contracts lib/errors',
  'lib/checks': 'lib/clock lib/contracts lib/errors',
  'lib/administration':
    'lib/contracts lib/errors lib/duration lib/options lib/option-checks lib/prune lib/checks lib/audit lib/engine',
  'lib/index':
    'lib/contracts lib/errors lib/duration lib/options lib/access lib/engine lib/api lib/administration lib/auth-server lib/create-auth-server lib/health lib/http/admission lib/prune lib/request-id lib/shutdown #runtime',
  'lib/cli': 'public lib/administration lib/errors #runtime commander',
  'lib/cli/gate-file': 'lib/cli public computed',
  'adapters/memory': 'lib/clock lib/contracts lib/errors #runtime',
  'adapters/knex': 'lib/clock lib/contracts lib/errors type:knex #runtime',
  'adapters/knex/load-driver': 'lib/errors adapters/knex/dialects knex better-sqlite3',
  interactions: 'lib/clock lib/contracts lib/errors lib/http ejs koa-compose koa-router #runtime',
  examples: 'public *',
  test: 'public examples *',
  'test/docs': 'public examples * test lib/api/limits lib/options lib/pdf/settings',
  'test/adapters': 'public * adapters lib/contracts lib/errors lib/testing test/harness/compile-cache',
};

/** Rooms whose tests, `test/access/**` or `test/options.test.ts`, may import the room and what the room may. */
const INNER_ROOMS = ['interactions'].concat(
  'access api apps audit checks cli duration engine errors http option-checks options pdf throttle'
    .split(' ')
    .map((name) => `lib/${name}`),
);

interface Import {
  readonly name: string;
  readonly typeOnly: boolean;
}

/** What a file imports that it may not, in words. */
function violations(file: string, source: string): string[] {
  const room = roomOf(file);
  if (room === undefined) return [`${file} is in no room: add it to the table`];
  return importsOf(source, file.endsWith('.ts'))
    .filter((found) => !isAllowed(file, room, found))
    .map(({ name, typeOnly }) => `${file} imports ${typeOnly ? 'types of ' : ''}${name}`);
}

function isAllowed(file: string, room: string, { name, typeOnly }: Import): boolean {
  if (name.startsWith('node:')) return isBuiltin(name);
  const places = [room, ...allowedIn(room), ...testedBy(file)];
  if (name === COMPUTED) return places.includes('computed');
  if (name.startsWith('.')) {
    const target = posix.join(posix.dirname(file), name);
    return places.some((place) => isIn(target, place));
  }
  if (name === 'koa-gatehouse' || name.startsWith('koa-gatehouse/')) return places.includes('public');
  const module = /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;
  if (typeOnly && (module === 'koa' || places.includes(`type:${module}`))) return true;
  return places.includes(module) || places.includes('*');
}

function allowedIn(room: string): string[] {
  return ROOMS[room]?.split(' ').filter(Boolean) ?? [];
}

function roomOf(path: string): string | undefined {
  const rooms = Object.keys(ROOMS).filter((room) => isIn(path, room));
  return rooms.toSorted((a, b) => b.length - a.length)[0];
}

function isIn(path: string, place: string): boolean {
  return path.startsWith(place) && /^(\/|\.[jt]s$|$)/.test(path.slice(place.length));
}

/** The room that a test file is about, and what that room may import; empty for other files. */
function testedBy(file: string): string[] {
  const subject = /^test\/(.*?)(\.test)?\.ts$/.exec(file)?.[1] ?? '';
  const tested = INNER_ROOMS.filter((room) => isIn(subject, room) || isIn(`lib/${subject}`, room));
  return tested.flatMap((room) => allowedIn(room).concat(room));
}

const COMPUTED = 'a computed name';

/** Every import of a source, in any spelling: static, type, re-export, `import()` as a call or a type, `require()`. */
function importsOf(source: string, isTypeScript: boolean): Import[] {
  // Node blanks types out and moves nothing: what is still there at the same place is imported at run time.
  const kept = isTypeScript ? stripTypeScriptTypes(source) : source;
  const tokens = tokensOf(source);
  const found: Import[] = [];
  for (const [index, { text, start }] of tokens.entries()) {
    const typeOnly = !kept.startsWith(text, start);
    const [before, next, second] = [
      tokens[index - 1]?.text,
      tokens[index + 1]?.text ?? '',
      tokens[index + 2]?.text ?? '',
    ];
    const isMember = before === '.' || before === '?.';
    if (!isMember && (text === 'from' || text === 'import') && isString(next)) {
      found.push({ name: next.slice(1, -1), typeOnly });
    } else if (!isMember && (text === 'import' || text === 'require') && next === '(') {
      found.push({ name: isString(second) ? second.slice(1, -1) : COMPUTED, typeOnly });
    }
  }
  return found;
}

interface Token {
  readonly text: string;
  readonly start: number;
}

/** Words, strings and signs, without comments, templates and regular expressions, whose content is not code. */
function tokensOf(source: string): Token[] {
  const pattern =
    /(?<blank>\s+|\/\/.*|\/\*[^]*?\*\/)|(?<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|(?<word>[\w$#@]+)|(?<sign>\?\.|[^])/gy;
  const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
  const tokens: Token[] = [];
  const openTemplates: number[] = [];
  let depth = 0;
  for (let at = 0; at < source.length; at = pattern.lastIndex) {
    pattern.lastIndex = at;
    const { blank, sign, string, word } = pattern.exec(source)!.groups!;
    if (blank !== undefined) continue;
    const endsTemplateHole = sign === '}' && openTemplates.at(-1) === depth;
    if (sign === '`' || endsTemplateHole) {
      if (endsTemplateHole) openTemplates.pop();
      pattern.lastIndex = endOfTemplateText(source, at + 1);
      if (source.startsWith('${', pattern.lastIndex - 2)) openTemplates.push(depth);
      tokens.push({ text: '`', start: at });
      continue;
    }
    if (sign === '{') depth += 1;
    if (sign === '}') depth -= 1;
    expression.lastIndex = at;
    if (sign === '/' && mayStartExpression(tokens.at(-1)?.text) && expression.test(source)) {
      pattern.lastIndex = expression.lastIndex;
      continue;
    }
    tokens.push({ text: string ?? word ?? sign!, start: at });
  }
  return tokens;
}

/** Where the text of a template ends: behind its backtick, or behind the `${` of the next piece of code in it. */
function endOfTemplateText(source: string, start: number): number {
  const end = /(?:\\[^]|\$(?!\{)|[^\\`$])*(?:`|\$\{)/y;
  end.lastIndex = start;
  return end.test(source) ? end.lastIndex : source.length;
}

// Behind a value, a slash divides.
function mayStartExpression(before: string | undefined): boolean {
  return (
    before === undefined ||
    !/^[\w$)\]}'"`]/.test(before) ||
    /^(?:return|typeof|case|in|of|await)$/.test(before)
  );
}

function isString(text: string): boolean {
  return text.startsWith("'") || text.startsWith('"');
}

const root = posix.join(import.meta.dirname, '..');

test('every import follows the rooms of the design', async (t) => {
  const files = globSync('{lib,adapters,interactions,examples,test}/**/*.{ts,js,mts,mjs,cts,cjs}', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  t.true(files.length > 50);
  const found = await Promise.all(
    files.map(async (file) => violations(file, await readFile(`${root}/${file}`, 'utf8'))),
  );
  t.deepEqual(found.flat(), []);
});

test('it sees imports in every spelling, and what is imported for its types only', (t) => {
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
    const m = await import(name);
    import {
      type N, // from 'no'
    } from 'n';
  `;
  t.deepEqual(
    importsOf(source, true).map(({ name, typeOnly }) => (typeOnly ? `type ${name}` : name)),
    ['a', 'b', 'type c', 'd', 'type e', 'f', 'g', 'type h', 'type i', 'j', 'k', 'l', COMPUTED, 'n'],
  );
});

test('it takes nothing else for an import', (t) => {
  const source = `
    // import 'a'
    /* import 'b' */
    const c = "import 'c'", d = 'it\\'s from "d"', e = \`import 'e'\`;
    const f = /[/*'"\`]import 'f'/.test(x) ? 1 / 2 : Array.from('f');
    const g = import.meta.resolve('g'), h = loader.import('h'), i = this?.require('i');
    const from = 'k';
  `;
  t.deepEqual(importsOf(source, true), []);
});

test('it fails on what the design does not allow', (t) => {
  const planted: [string, string][] = [
    ['lib/access/gate.ts', 'knex'],
    ['lib/access/gate.ts', 'koa'],
    ['lib/access/gate.ts', '../engine/keys.ts'],
    ['lib/access/gate.ts', '../http/body.ts'],
    ['lib/access/gate.ts', '../api/router.ts'],
    ['lib/api/router.ts', '../create-auth-server.ts'],
    ['lib/api/router.ts', '../../adapters/knex/index.ts'],
    ['lib/api/router.ts', 'oidc-provider'],
    ['lib/http/problem.ts', 'koa-body'],
    ['lib/http/problem.ts', 'fs'],
    ['lib/options.ts', 'oidc-provider'],
    ['lib/pdf/client.ts', '../contracts.ts'],
    ['lib/cli/main.ts', '../engine/keys.ts'],
    ['adapters/memory/index.ts', 'knex/lib/client.js'],
    ['adapters/memory/index.ts', '../knex/table.ts'],
    ['interactions/page.ts', 'koa-gatehouse'],
    ['examples/embed.ts', '../lib/index.ts'],
    ['test/flow.test.ts', '../lib/api/router.ts'],
    ['test/access/guard.test.ts', '../../lib/api/router.ts'],
  ];
  for (const [file, name] of planted) {
    t.deepEqual(violations(file, `import { a } from '${name}';`), [`${file} imports ${name}`]);
    t.deepEqual(violations(file, `export * from '${name}';`), [`${file} imports ${name}`]);
    t.deepEqual(violations(file, `await import('${name}');`), [`${file} imports ${name}`]);
  }
  t.deepEqual(violations('lib/access/gate.ts', `let a: import('../engine/keys.ts').A;`), [
    'lib/access/gate.ts imports types of ../engine/keys.ts',
  ]);
  t.deepEqual(violations('lib/api/router.ts', 'await import(`kn${"ex"}`);'), [
    `lib/api/router.ts imports ${COMPUTED}`,
  ]);
  t.deepEqual(violations('scripts/a.ts', ''), ['scripts/a.ts is in no room: add it to the table']);
});

test('it passes what the design allows', (t) => {
  const fine: [string, string][] = [
    ['lib/access/guard.ts', `import { sendProblem } from '../http/problem.ts';`],
    ['lib/access/guard.ts', `import type { Context } from 'koa';`],
    ['lib/engine/mount.ts', `import Koa from 'koa'; import { errors } from 'oidc-provider';`],
    ['lib/engine/mount.ts', `import { now } from './clock.ts';`],
    ['lib/options.ts', `import type { Configuration } from 'oidc-provider';`],
    ['adapters/knex/stores/keys.ts', `import type { Knex } from 'knex'; import { a } from '../table.ts';`],
    [
      'test/access/a.test.ts',
      `import { a } from '../../lib/access/a.ts'; import { b } from '../../lib/errors.ts';`,
    ],
    [
      'test/adapters/knex/a.test.ts',
      `import { a } from '../../../adapters/knex/table.ts'; import knex from 'knex';`,
    ],
    ['test/interactions/a.test.ts', `import { a } from '../../interactions/a.ts'; import test from 'ava';`],
    [
      'test/options.test.ts',
      `import { a } from '../lib/options.ts'; import 'koa-gatehouse/adapters/memory';`,
    ],
  ];
  for (const [file, source] of fine) t.deepEqual(violations(file, source), [], file);
});

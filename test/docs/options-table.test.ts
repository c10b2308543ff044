import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import test from '../harness/test.ts';
import * as gatehouse from 'koa-gatehouse';
import { ConfigError } from 'koa-gatehouse';

import { withStored } from '../../lib/features/shipped.ts';
import { pick, readOptions } from '../../lib/options/declare.ts';
import { authServerOptions } from '../../lib/options/options.ts';
import { GROUPS } from './documented.ts';
import { GUIDES, ROOT } from './guides.ts';
import { LIMIT_TABLES, limitTablesIn, withLimitTables } from './limit-tables.ts';
import { optionsTable } from './options-table.ts';

const page = readFileSync(join(ROOT, 'docs/options.md'), 'utf8');

test('the page of the options is that of the declarations', (t) => {
  t.is(page, optionsTable(), 'look at what has changed, then: npm run options');
});

test('the tables of numbers in the guides are those of the declarations, and each is in one', (t) => {
  const guides = GUIDES.map((guide) => readFileSync(join(ROOT, guide), 'utf8'));
  for (const [index, text] of guides.entries())
    t.is(text, withLimitTables(text), `look at what has changed in ${GUIDES[index]}, then: npm run options`);
  t.deepEqual(
    guides.flatMap(limitTablesIn).toSorted(),
    Object.keys(LIMIT_TABLES).toSorted(),
    'put a table of test/docs/limit-tables.ts into a guide, between comments as in docs/limits.md',
  );
});

test('the page has every option of the server and of its groups', (t) => {
  const declared = authServerOptions();
  for (const name of Object.keys(declared)) t.true(page.includes(`**\`${name}\`**`), name);
  for (const [group] of GROUPS) {
    const { members } = declared[group].check as unknown as { members: object };
    for (const name of Object.keys(members)) t.true(page.includes(`**\`${group}.${name}\`**`), name);
  }
});

/** Takes options, and checks them at once. */
type Takes = (given: Readonly<Record<string, unknown>>) => unknown;

/** The functions whose options are a table, with those of all features of the package. */
const TAKES: Readonly<Record<string, Takes>> = {
  createAuthServer(given) {
    const declared = authServerOptions();
    // Each option by itself: those that are required are left out.
    const names = Object.keys(given).filter((name) => Object.hasOwn(declared, name));
    return readOptions(pick(declared, ...(names as never[])), given as never);
  },
  ...Object.fromEntries(
    // What has options that are required, or nothing that is known while it is off, is not among those.
    [...withStored([]).map(({ name }) => name), 'laravelPassport', 'pushedRequests'].map((name) => [
      name,
      gatehouse[name as keyof typeof gatehouse] as Takes,
    ]),
  ),
};

/** Whether an option is an object with options or names, so that the check of it names a member. @param path - empty: the function */
function hasMembers(take: Takes, path: readonly string[]): boolean {
  try {
    take(path.reduceRight<Record<string, unknown>>((inner, name) => ({ [name]: inner }), { misspelt: true }));
    return false;
  } catch (error) {
    if (error instanceof ConfigError) return error.option.includes('misspelt');
    throw error;
  }
}

for (const [name, take] of Object.entries(TAKES)) {
  test(`the page has the options of ${name}() and of each of its groups`, (t) => {
    const where = `declare it in ${name === 'createAuthServer' ? 'SERVER_OPTIONS' : 'FEATURE_OPTIONS'} of test/docs/documented.ts, then: npm run options`;
    const [, section = ''] = page.split(`\n## ${name}()\n`);
    if (hasMembers(take, [])) t.not(section, '', `${name}() has no section; ${where}`);
    const own = section.split('\n## ')[0]!;
    const options = Array.from(own.matchAll(/^- \*\*`([\w.]+)`\*\*/gm), ([, option = '']) => option);
    // The check of a user store names its methods in one sentence.
    const groups = options.filter((option) => option === 'users' || hasMembers(take, option.split('.')));
    const titles = Array.from(own.matchAll(/^### `?([^`\n]+)/gm), ([, title = '']) => title);
    const missing = groups.filter((group) => !titles.some((title) => `${title}.`.startsWith(`${group}.`)));
    t.deepEqual(missing, [], `these groups of ${name}() have no section; ${where}`);
  });
}

test('a group of options is one whose check names a member', (t) => {
  t.true(hasMembers(TAKES['createAuthServer']!, ['tokens', 'lifetimes']));
  t.true(hasMembers(TAKES['createAuthServer']!, []));
  t.false(hasMembers(TAKES['createAuthServer']!, ['login', 'currentUser']));
  t.false(hasMembers(() => ({}), []));
});

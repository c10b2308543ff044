// What no compiler says of a feature that is not in each list of what ships, or whose pages lack a sentence.
import { globSync } from 'node:fs';
import { basename } from 'node:path';

import test from './harness/test.ts';
import * as gatehouse from 'koa-gatehouse';

import type { StoredTable } from '../lib/database/table.ts';
import type { Feature } from '../lib/features/feature.ts';
import { withStored } from '../lib/features/shipped.ts';
import { FEATURE_CLIENT_FIELDS, FEATURE_EVENTS, FEATURE_TABLES } from '../lib/features/tables.ts';

const ROOT = new URL('../', import.meta.url);

const FOLDERS = globSync('lib/features/*/', { cwd: ROOT }).map((path) => basename(path));

/** What the files of a name in the folders of the features export. */
async function importAll(file: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const paths = globSync(`lib/features/*/${file}`, { cwd: ROOT });
  return Promise.all(
    paths.map(async (path) => import(new URL(path, ROOT).href) as Promise<Record<string, unknown>>),
  );
}

const isTable = (value: unknown): value is StoredTable =>
  typeof value === 'object' && value !== null && 'columns' in value;

/** What a feature has while it is off too. */
const STORED = [
  'clientKinds',
  'clientSources',
  'clientFields',
  'tokensOff',
  'exportUser',
  'examine',
  'prune',
];

for (const folder of FOLDERS) {
  test(`${folder}: the package has its function, and the lists of what ships have what is known while it is off`, (t) => {
    const name = folder.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    const make = gatehouse[name as keyof typeof gatehouse] as unknown as (() => Feature) | undefined;
    t.is(typeof make, 'function', `export ${name}() from lib/index.ts`);
    let made: Feature;
    try {
      made = make!();
    } catch {
      // It has options without a default, so that nothing is known of it while it is off.
      return;
    }
    t.is(made.name, name);
    const stored = STORED.filter((member) => member in made);
    if (stored.length > 0)
      t.true(
        withStored([]).some((one) => one.name === name),
        `add ${name}() to lib/features/shipped.ts: it has ${stored.join(', ')}`,
      );
    for (const field of made.clientFields ?? [])
      t.true(FEATURE_CLIENT_FIELDS.includes(field), `add ${field.name} to lib/features/tables.ts`);
  });
}

test('every storage has each table that a feature declares', async (t) => {
  const modules = await importAll('tables.ts');
  const declared = modules.flatMap((found) => Object.values(found)).filter(isTable);
  t.true(declared.length > 3);
  const missing = declared.filter((table) => !FEATURE_TABLES.includes(table)).map(({ name }) => name);
  t.deepEqual(
    missing,
    [],
    'add these to the list in tables.ts of the feature, and that to lib/features/tables.ts',
  );
});

for (const language of ['en', 'de']) {
  test(`pages of developers have the sentences of events and of fields: ${language}`, async (t) => {
    const modules = await importAll('texts.ts');
    const texts = Object.assign({}, ...modules.map((found) => found[language])) as object;
    const ofEvents = Object.entries(FEATURE_EVENTS).flatMap(([type, { activity }]) =>
      activity === 'hidden' ? [] : [`activity.${type}`],
    );
    const ofFields = FEATURE_CLIENT_FIELDS.flatMap(({ isList, name }) => {
      const ofForm = [`apps.${name}`, `apps.${name}Hint`];
      return isList ? ofForm.concat(`apps.problem.${name}`) : ofForm;
    });
    const missing = [...ofEvents, ...ofFields].filter((key) => !(key in texts));
    t.deepEqual(missing, [], 'add these to texts.ts of the feature');
  });
}

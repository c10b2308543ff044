import { inspect } from 'node:util';

import type { ExecutionContext } from 'ava';

import type { Storage } from '../../lib/contracts/index.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aKey,
  aRecord,
  aRefreshToken,
  aRevokedToken,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from '../storage/rows.ts';
import { onEachEmptyDatabase } from './databases.ts';
import { openHost, openStorage, SOLE } from './host-knex.ts';

// The text of each row that has text.
const ROW_TEXT = 'kept-in-a-row';

/** Calls that fail, by the row in the failing statement. */
const CALLS: Readonly<Record<string, (storage: Storage, id: string) => Promise<unknown>>> = {
  client: async ({ clients }, id) =>
    clients.insert(aClient({ id, name: ROW_TEXT }), [aSecret({ hash: ROW_TEXT })]),
  secret: async ({ clients }, id) =>
    clients.insert(aClient({ id: `${id}-other` }), [aSecret({ id, hash: ROW_TEXT, label: ROW_TEXT })]),
  code: async ({ grants }, id) =>
    grants.insert(aGrant({ id, userId: ROW_TEXT }), aCode({ id, grantId: id, payload: { ROW_TEXT } })),
  successor: async ({ grants }, id) => {
    await grants.insert(aGrant({ id: `${id}-grant` }), aCode({ id: `${id}-code`, grantId: `${id}-grant` }));
    return grants.redeem(
      { kind: 'code', id: `${id}-code` },
      {
        successor: aRefreshToken({ id, grantId: `${id}-grant`, payload: { ROW_TEXT } }),
        sealedSuccessor: `${ROW_TEXT}-sealed`,
      },
    );
  },
  session: async ({ sessions }, id) =>
    sessions.insert(aSession({ id, uid: id, userId: ROW_TEXT, payload: { ROW_TEXT } })),
  consent: async ({ consents }, id) => consents.add(aConsent({ userId: id, scopes: [ROW_TEXT] })),
  key: async ({ keys }, id) => keys.insert(aKey({ id, material: ROW_TEXT })),
  record: async ({ audit }, id) =>
    audit.append([aRecord({ id }, { type: 'login', userId: ROW_TEXT })], NOW + HOUR),
  revocation: async ({ revocations }, id) => revocations.revokeToken(aRevokedToken({ id })),
};

/** Everything that a logger could write of an error: all own properties, and those of its causes. */
function textOf(error: unknown): string {
  const texts: string[] = [];
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Error).cause) {
    texts.push(inspect(one, { depth: 9 }));
    for (const name of Object.getOwnPropertyNames(one)) {
      texts.push(`${name}: ${inspect((one as unknown as Record<string, unknown>)[name], { depth: 9 })}`);
    }
  }
  return texts.join('\n');
}

/** The calls that fail. No error may contain the text of a row. */
async function failing(t: ExecutionContext, storage: Storage, id: string): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [what, call] of Object.entries(CALLS)) {
    try {
      await call(storage, id);
    } catch (error) {
      failed.push(what);
      t.like(error, { status: 503 }, what);
      const text = textOf(error);
      t.false(text.includes(ROW_TEXT), `${what}: ${text}`);
      t.false(text.includes(Buffer.from(ROW_TEXT).toString('hex')), `${what}: ${text}`);
    }
  }
  return failed;
}

onEachEmptyDatabase(
  'no error contains a value of a row: not of a duplicate key, of one that is too long or of a missing column',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address);
    const other = openHost(t, client, address, SOLE);
    t.deepEqual(await failing(t, storage, `${ROW_TEXT}-1`), []);
    const twice = await failing(t, storage, `${ROW_TEXT}-1`);
    for (const what of ['client', 'secret', 'code', 'successor', 'session'])
      t.true(twice.includes(what), what);

    const tooLong = await failing(t, storage, `${ROW_TEXT}-${'x'.repeat(300)}`);
    t.is(tooLong.length, client === 'better-sqlite3' ? 0 : Object.keys(CALLS).length, tooLong.join());

    for (const [table, column] of [
      ['clients', 'name'],
      ['credentials', 'payload'],
      ['sessions', 'payload'],
      ['consents', 'scopes'],
      ['keys', 'material'],
      ['audit', 'type'],
      ['revocations', 'revoked_at'],
    ] as const) {
      // SQLite cannot rename a column that has an index.
      if (client === 'better-sqlite3' && column === 'revoked_at') continue;
      await other.schema.alterTable(`gatehouse_${table}`, (changed) => changed.renameColumn(column, 'gone'));
    }
    const missing = await failing(t, storage, `${ROW_TEXT}-2`);
    t.true(missing.length >= 8, missing.join());
  },
);

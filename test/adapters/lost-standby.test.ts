// Long: it starts a PostgreSQL server with a standby.
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { StorageError } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import type { Knex } from 'knex';

import { aCode, aGrant, aRefreshToken } from '../../lib/testing/storage/rows.ts';
import { sayMissing } from './databases.ts';
import { findPrograms, makeScratchServer, SCRATCH_KINDS } from './scratch-server.ts';
import { connect } from './servers.ts';

const kind = SCRATCH_KINDS.find(({ name }) => name === 'PostgreSQL')!;
const programs = findPrograms(kind);

async function isNotReplicated(t: ExecutionContext, call: Promise<unknown>, what: string): Promise<void> {
  const error = await t.throwsAsync(call, { instanceOf: StorageError }, what);
  t.like(
    error,
    {
      status: 503,
      code: 'ERR_STORAGE',
      message:
        'The database committed a change without its synchronous standby, because the wait for it was cancelled. It is not known whether the change lasts.',
    },
    what,
  );
}

/** Cancels the commit that waits for the standby. `false`: there is none. */
async function cancelWait(admin: Knex): Promise<boolean> {
  const { rows } = await admin.raw<{ rows: unknown[] }>(
    `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
  );
  return rows.length > 0;
}

/** Commits until a commit waits: the checkpointer of the server applies the new setting at some time after its reload. */
async function untilStandbyIsAwaited(admin: Knex, host: Knex): Promise<void> {
  for (;;) {
    const committed = commit(host);
    do {
      if (await cancelWait(admin)) return void (await committed);
    } while (!(await Promise.race([committed, Promise.resolve(false)])));
  }
}

async function commit(host: Knex): Promise<true> {
  await host.raw('create table probe (); drop table probe');
  return true;
}

if (programs === undefined) {
  sayMissing(`there is no ${kind.program}: install ${kind.name} as Debian packages it`);
} else {
  test('a commit whose wait for the synchronous standby is cancelled is no success', async (t) => {
    const server = await makeScratchServer(kind, programs);
    t.teardown(async () => server.remove());
    await server.start();
    const admin = connect(kind, server.address);
    t.teardown(async () => admin.destroy());
    const host = connect(kind, server.address);
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host, { timeout: '1 second' });
    await storage.migrate();
    await host.raw('create table schools (name varchar(255) primary key)');
    await storage.grants.insert(aGrant(), aCode());
    const successor = aRefreshToken();

    // A standby that does not answer.
    await admin.raw(`alter system set synchronous_standby_names = 'standby'`);
    await admin.raw('select pg_reload_conf()');
    await untilStandbyIsAwaited(admin, host);
    const exchange = { successor, sealedSuccessor: 'sealed' };

    const redeem = async (): Promise<unknown> => storage.grants.redeem(aCode(), exchange);
    await isNotReplicated(t, redeem(), 'one statement');
    await isNotReplicated(t, redeem(), 'a retry, which reads what the first call has stored');
    await isNotReplicated(t, storage.revocations.revokeAllOf({ userId: 'carol' }), 'a transaction');
    const work = storage.transaction(async (transaction) => {
      await (transaction as Knex.Transaction)('schools').insert({ name: 'Hill' });
    });
    await isNotReplicated(t, work, 'a transaction of the host');

    // By an administrator, before this storage gives up.
    const patient = knexStorage(host, { timeout: '1 minute' });
    const ending = isNotReplicated(
      t,
      patient.revocations.revokeAllOf({ userId: 'bob' }),
      'cancelled elsewhere',
    );
    while (!(await cancelWait(admin)));
    await ending;

    await admin.raw('alter system reset synchronous_standby_names');
    await admin.raw('select pg_reload_conf()');
    t.deepEqual(await storage.grants.redeem(aCode(), exchange), {
      outcome: 'spent',
      sealedSuccessor: 'sealed',
    });
  });
}

import { setTimeout as delay } from 'node:timers/promises';

import knex from 'knex';
import type { Knex } from 'knex';

import { makeScratchServer, SCRATCH_KINDS } from './scratch-server.ts';
import type { ScratchKind } from './scratch-server.ts';
import { connect } from './servers.ts';

export const POSTGRESQL_KIND: ScratchKind = SCRATCH_KINDS.find(({ name }) => name === 'PostgreSQL')!;

const STANDBY = 'standby';

/** A PostgreSQL primary whose commits wait for one standby. */
export interface StandbyPair extends AsyncDisposable {
  /** A pool of connections to the primary, whichever server that is. */
  readonly host: Knex;
  /** The address of the primary, whichever server that is. */
  readonly address: string;
  /** The standby is gone: until it is back, each wait for it is cancelled soon. */
  loseStandby(this: void): Promise<void>;
  /** Resolves when the standby has all that the primary has. */
  bringStandbyBack(this: void): Promise<void>;
  /** Kills the primary, and makes the standby, which is back, the primary, whose commits wait for no other server. */
  failOver(this: void): Promise<void>;
}

/** Starts both servers; call it only where {@link POSTGRESQL_KIND} is installed. */
export async function startStandbyPair(programs: string): Promise<StandbyPair> {
  const primary = await makeScratchServer(
    {
      ...POSTGRESQL_KIND,
      serve: (...given) => [...POSTGRESQL_KIND.serve(...given), '-c', `synchronous_standby_names=${STANDBY}`],
    },
    programs,
  );
  await primary.start();
  const { hostname, port } = new URL(primary.address);
  const standby = await makeScratchServer(
    {
      ...POSTGRESQL_KIND,
      initialize: (bin, folder) => [
        `${bin}/pg_basebackup`,
        '-d',
        `host=${hostname} port=${port} user=postgres application_name=${STANDBY}`,
        '-D',
        folder,
        '--write-recovery-conf',
        '--no-sync',
        '--checkpoint=fast',
      ],
    },
    programs,
  );

  let current = primary.address;
  const host = knex({
    client: 'pg',
    connection: () => {
      const address = current;
      const { hostname: server, port: its } = new URL(address);
      return {
        host: server,
        port: Number(its),
        user: 'postgres',
        database: 'postgres',
        expirationChecker: () => address !== current,
      };
    },
    pool: { min: 0, max: 8 },
    log: { warn() {} },
  });

  async function on(address: string, run: (admin: Knex) => Promise<void>): Promise<void> {
    const admin = connect(POSTGRESQL_KIND, address);
    try {
      await run(admin);
    } finally {
      await admin.destroy();
    }
  }

  let back = new AbortController();
  let cancelling: Promise<void> | undefined;

  async function cancelWaits(admin: Knex): Promise<void> {
    for (; !back.signal.aborted; await delay(10)) {
      await admin.raw(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`);
    }
  }

  async function bringStandbyBack(): Promise<void> {
    back.abort();
    await cancelling;
    await standby.start();
    // Waits for the standby, as any commit that writes.
    await on(primary.address, async (admin) => admin.raw('create table probe (); drop table probe'));
  }

  await bringStandbyBack();
  return {
    host,
    get address() {
      return current;
    },
    async loseStandby() {
      await standby.kill();
      back = new AbortController();
      cancelling = on(primary.address, cancelWaits);
    },
    bringStandbyBack,
    async failOver() {
      await primary.kill();
      await on(standby.address, async (admin) => admin.raw('select pg_promote()'));
      current = standby.address;
    },
    async [Symbol.asyncDispose]() {
      back.abort();
      await cancelling;
      await host.destroy();
      await standby.remove();
      await primary.remove();
    },
  };
}

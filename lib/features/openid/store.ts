import { setImmediate as nextTurn } from 'node:timers/promises';

import { DAY } from '../../contracts/duration.ts';
import type { End, EndStore, Seconds } from '../../contracts/index.ts';
import { inList, isStorable, mapRows, text } from '../../database/rows.ts';
import type { CoreSteps, Database, SignIns } from '../../database/database.ts';
import type { Row } from '../../database/rows.ts';
import type { Statements } from '../../database/statements.ts';
import { DELIVERY_MEMBERS, deliveryStore } from '../../outbox/delivery-store.ts';
import { createEndReader } from '../../outbox/end-reader.ts';
import type { EndReader } from '../../outbox/end-reader.ts';
import { LOGOUT_TABLE } from './tables.ts';
import type { LogoutDelivery, LogoutStore } from './types.ts';

/** Clients that have to be told that users were signed out. */
export function logoutStore(database: Database, core: CoreSteps): LogoutStore {
  return {
    ...deliveryStore(database, {
      name: LOGOUT_TABLE.name,
      rows: LOGOUTS,
      receiver: 'client_id',
      receivers: { table: 'gatehouse_clients', uri: 'backchannel_logout_uri' },
    }),
    async add(ends) {
      const [ofMany, ofOne] = [ends.filter(isOfMany), ends.filter((end) => !isOfMany(end))];
      for (const end of ofMany) await addLogoutsOfMany(database, core, end);
      if (ofOne.length > 0)
        await database.transaction(async (statements) => addLogouts(statements, core, ofOne));
    },
    async findLatest(clientId) {
      if (!isStorable(clientId)) return undefined;
      const row = await database.get<Row>(LATEST_OF_CLIENT, [clientId]);
      return row && LOGOUTS.read(row);
    },
    async listLatest(userId) {
      if (!isStorable(userId)) return [];
      const rows = await database.all<Row>(LATEST_OF_USER, [userId]);
      const ofClients = Map.groupBy(rows.map(LOGOUTS.read), ({ clientId }) => clientId);
      return [...ofClients.values()].map(([latest]) => latest!);
    },
  };
}

/** The reader that turns ends into deliveries. */
export function logoutReader(
  ends: Pick<EndStore, 'read' | 'release' | 'take'>,
  logouts: Pick<LogoutStore, 'add'>,
): EndReader {
  // Does not read ends of sessions, because the end of a session comes together with the ends of its sign-ins.
  return createEndReader(ends, {
    name: 'openid',
    kinds: ['sign_in', 'grant', 'user', 'client', 'all'],
    handle: logouts.add,
  });
}

/** Whether an end is of many sign-ins. */
const isOfMany = ({ kind }: End): boolean => kind === 'user' || kind === 'client' || kind === 'all';

const LOGOUTS = mapRows<LogoutDelivery>(LOGOUT_TABLE, {
  ...DELIVERY_MEMBERS,
  clientId: text('client_id'),
  userId: text('user_id'),
  sessionUid: text('session_uid'),
});

const LATEST_OF_CLIENT = `
  select ${LOGOUTS.columns} from gatehouse_logouts where client_id = ? order by created_at desc, id desc limit 1`;
const LATEST_OF_USER = `
  select ${LOGOUTS.columns} from gatehouse_logouts where user_id = ? order by created_at desc, id desc limit 1000`;

// A day in which the client is told again, and a day in which the result is shown.
const KEPT: Seconds = 2 * DAY;

// See `LogoutDelivery.ownerId` and `vouchedForBy()`.
const ANSWERABLE = (userId: string): string => `
  case when c.source <> 'manual' then ${userId}
       when c.first_party = 1 or c.verified = 1 then null
       else c.owner_id end`;

const INTO = `insert into gatehouse_logouts
  (id, client_id, user_id, session_uid, owner_id, created_at, due_at, attempts, expires_at)`;
const OF_TOLD_CLIENTS = (alias: string): string =>
  `join gatehouse_clients c on c.id = ${alias}.client_id and c.backchannel_logout_uri is not null`;

// Excludes sign-ins of which the client was told, or is being told, since the end, so that an end that is read twice adds nothing.
const NOT_TOLD = `not exists (
  select 1 from gatehouse_logouts l
  where l.user_id = e.user_id and l.client_id = e.client_id and l.session_uid = e.session_uid and l.created_at >= e.ended_at)`;

/** Adds the deliveries for ends of sign-ins and of grants, one for each session, and removes the ends. Runs inside a transaction. */
async function addLogouts(statements: Statements, core: CoreSteps, ends: readonly End[]): Promise<void> {
  const { placeholders, values } = inList(ends.map(({ id }) => id));
  await statements.run(
    `${INTO} select o.id, o.client_id, o.user_id, o.session_uid, ${ANSWERABLE('o.user_id')}, o.ended_at, o.ended_at, 0, o.ended_at + ${KEPT}
     from (
       select min(e.value) as id, e.client_id, e.user_id, e.session_uid, min(e.ended_at) as ended_at from gatehouse_ends e
       where e.id in ${placeholders} and e.session_uid is not null and e.ended_by = 'owner' and ${NOT_TOLD}
       group by e.client_id, e.user_id, e.session_uid
     ) o ${OF_TOLD_CLIENTS('o')}`,
    values,
  );
  await core.endsDone(statements, ends);
}

const TOLD_CLIENTS = 'select id from gatehouse_clients where backchannel_logout_uri is not null';

/** Adds the deliveries for an end of a user, of a client or of all, in batches, for the clients that are told. */
async function addLogoutsOfMany(database: Database, core: CoreSteps, end: End): Promise<void> {
  const ended = end.kind as SignIns['ended'];
  for (const party of await partiesOf(database, end)) {
    const addBatch = async (statements: Statements): Promise<number> =>
      core.endSignIns(statements, {
        ...party,
        ended,
        at: end.at,
        tell: async (ids) => tellOf(statements, ids, end.at),
      });
    while ((await database.transaction(addBatch)) > 0) await nextTurn();
  }
  await core.endsDone(database, [end]);
}

/**
 * The parties whose sign-ins have ended. After an end of all, these are the clients that are told, because the grants of other clients
 * are many.
 */
async function partiesOf(
  database: Database,
  { kind, value }: End,
): Promise<readonly Pick<SignIns, 'clientId' | 'userId'>[]> {
  if (kind === 'user') return [{ userId: value }];
  const clients = await (kind === 'all'
    ? database.all<{ id: string }>(TOLD_CLIENTS)
    : database.all<{ id: string }>(`${TOLD_CLIENTS} and id = ?`, [value]));
  return clients.map(({ id }) => ({ clientId: id }));
}

/** Adds the deliveries of a batch of sign-ins, one for each session. */
async function tellOf(statements: Statements, ids: readonly string[], at: Seconds): Promise<void> {
  const { placeholders, values } = inList(ids);
  await statements.run(
    `${INTO} select o.id, o.client_id, o.user_id, o.session_uid, ${ANSWERABLE('o.user_id')}, ?, ?, 0, ?
     from (
       select min(g.id) as id, g.client_id, g.user_id, g.session_uid from gatehouse_grants g
       where g.id in ${placeholders} group by g.client_id, g.user_id, g.session_uid
     ) o ${OF_TOLD_CLIENTS('o')}`,
    [at, at, at + KEPT, ...values],
  );
}

import { passTime } from '../harness/clock.ts';

import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { openHost, openNodes } from '../adapters/host-knex.ts';
import { createTable } from '../../lib/database/create-table.ts';
import { mapRows, text } from '../../lib/database/rows.ts';
import type { Delivery, DeliveryStore, Outcome } from '../../lib/outbox/deliveries.ts';
import { DELIVERY_COLUMNS } from '../../lib/outbox/delivery-columns.ts';
import { createDeliverySender } from '../../lib/outbox/delivery-sender.ts';
import { DELIVERY_MEMBERS, deliveryStore } from '../../lib/outbox/delivery-store.ts';
import { createEndReader } from '../../lib/outbox/end-reader.ts';
import { recordingLogger } from '../harness/platform.ts';
import { until } from '../harness/until.ts';

/** A user has ended, which a place has to be told. */
interface Notice extends Delivery {
  readonly placeId: string;
}

const NOTICES = {
  name: 'notices',
  columns: { ...DELIVERY_COLUMNS, place_id: 'id' },
  indexes: [['due_at'], ['place_id', 'due_at']],
} as const;
const PLACES = { name: 'places', columns: { id: 'id', address: 'id?' } } as const;

interface NoticeStore extends DeliveryStore<Notice> {
  create(): Promise<void>;
}

const noticesOf = (storage: Storage): NoticeStore =>
  storage.store('notices', (database): NoticeStore => ({
    ...deliveryStore(database, {
      name: NOTICES.name,
      rows: mapRows<Notice>(NOTICES, { ...DELIVERY_MEMBERS, placeId: text('place_id') }),
      receiver: 'place_id',
      receivers: { table: PLACES.name, uri: 'address' },
    }),
    async create() {
      for (const sql of [NOTICES, PLACES].flatMap((table) => createTable(database.dialect, table)))
        await database.run(sql);
    },
  })) as NoticeStore;

onEachDatabaseInSeries(
  'deliveries in a table of their own are sent by one of two nodes, again after the pauses, and not without a URI',
  async (t: ExecutionContext, { client }, address) => {
    const nodes = openNodes(t, 2, address);
    const [storage] = nodes;
    await storage.migrate();
    const host = openHost(t, client, address);
    // Another run has left them on a server.
    for (const { name } of [NOTICES, PLACES]) await host.schema.dropTableIfExists(name);
    await noticesOf(storage).create();
    await host(PLACES.name).insert([
      { id: 'good', address: 'to good' },
      { id: 'bad', address: 'to bad' },
      { id: 'silent', address: null },
    ]);

    const sent: string[] = [];
    const outcomes: (Outcome & { readonly placeId: string })[] = [];
    const logger = recordingLogger();
    const senders = nodes.map((node) => {
      const reader = createEndReader(node.ends, {
        name: 'notices',
        kinds: ['user'],
        async handle(ends) {
          for (const { at, value } of ends)
            for (const place of ['good', 'bad', 'silent'])
              await host(NOTICES.name).insert({
                id: `${value} at ${place}`,
                place_id: place,
                created_at: at,
                due_at: at,
                attempts: 0,
                expires_at: at + 1000,
              });
          await node.ends.done(ends);
        },
      });
      const sender = createDeliverySender<Notice>({
        what: 'notice',
        ends: reader,
        deliveries: noticesOf(node),
        logger,
        async send({ id }, uri) {
          sent.push(`${id}, ${uri}`);
          return uri === 'to bad' && sent.filter((one) => one.startsWith(id)).length === 1
            ? 'busy'
            : undefined;
        },
        async report({ placeId }, outcome) {
          outcomes.push({ placeId, ...outcome });
        },
      });
      t.teardown(sender.stop);
      return { reader, sender };
    });
    const trigger = (): void => {
      for (const { sender } of senders) sender.trigger();
    };
    await senders[0]!.reader.register();
    const users = Array.from({ length: 10 }, (_, index) => `user ${index}`);
    for (const userId of users) await storage.revocations.revokeAllOf({ userId });

    trigger();
    await until(() => outcomes.length === 20);
    t.is(new Set(sent).size, 20);
    t.deepEqual(
      outcomes.filter(({ error }) => error !== undefined).map((one) => [one.placeId, one.error, one.isLast]),
      users.map(() => ['bad', 'busy', false]),
    );
    passTime(12);
    trigger();
    await until(() => outcomes.length === 30);
    await until(async () => (await host(NOTICES.name).whereNotNull('due_at')).length === 0);
    t.is(outcomes.filter(({ attempt, isLast }) => attempt === 2 && isLast).length, 10);
    const rows: { place_id: string; error: string | null }[] = await host(NOTICES.name);
    t.is(rows.length, 30);
    t.deepEqual([...new Set(rows.map(({ error, place_id: place }) => `${place}: ${error}`))].toSorted(), [
      'bad: null',
      'good: null',
      'silent: no_uri',
    ]);
    t.is((await host('gatehouse_ends')).length, 0);
    t.deepEqual(
      logger.lines.filter(({ level }) => level === 'warn'),
      [],
    );
  },
);

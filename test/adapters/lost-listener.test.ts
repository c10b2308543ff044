import test from '../harness/test.ts';

import { postgresqlChangeFeed } from '../../lib/database/changes.ts';
import type { ListeningConnection } from '../../lib/database/port.ts';

/** A connection of pg whose server does not answer, and which then ends. */
function lostConnection(): ListeningConnection {
  return {
    processID: 1,
    query: async () => new Promise(() => {}),
    on() {},
    once: (_event, listener) => setImmediate(listener),
    unref() {},
    async end() {},
  };
}

test('a connection that ends before its first answer is replaced', async (t) => {
  const replaced = Promise.withResolvers<void>();
  let opened = 0;
  const feed = postgresqlChangeFeed({ get: async () => undefined }, async () => {
    opened += 1;
    if (opened === 2) replaced.resolve();
    return lostConnection();
  });
  t.teardown(() => feed.close());
  t.timeout(10_000);
  await feed.subscribe(() => {});
  await replaced.promise;
  t.is(opened, 2);
});

import type { ExecutionContext } from 'ava';

import { createBalancer, createNode } from '../../../examples/two-nodes.ts';
import { postgresql } from '../../adapters/databases.ts';
import { authorize, platformOf, serveHost } from '../../harness/platform.ts';
import type { RunningServer } from '../../harness/platform.ts';
import { clientToken, exchangeCode } from '../../harness/tokens.ts';
import { until } from '../../harness/until.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

/** Two nodes that start at once on an empty database behind a balancer, until the test ends. */
async function startNodes(
  t: ExecutionContext,
): Promise<{ balanced: RunningServer; nodes: readonly RunningServer[] }> {
  const database = await postgresql.empty();
  const ports: number[] = [];
  const balancer = endWith(t, await listenOn(createBalancer(ports)));
  const issuer = `http://127.0.0.1:${balancer.port}`;
  const settings = { issuer, database, keyEncryptionKey: 'a key that is in no database, for tests' };
  const nodes: RunningServer[] = [];
  for (const { app, auth } of await Promise.all([createNode(settings), createNode(settings)])) {
    t.teardown(async () => auth.close());
    const node = await serveHost(t, async () => ({ app, auth }));
    ports.push(Number(new URL(node.origin).port));
    nodes.push(node);
  }
  const balanced = platformOf(nodes[0]!.auth, { origin: issuer, path: '' });
  return { balanced, nodes };
}

postgresql.register('two nodes work as one server for a user, and a code is redeemed once', async (t) => {
  const { balanced, nodes } = await startNodes(t);
  const app = await balanced.registerApp();
  const callback = await authorize(balanced, app);
  const answers = await Promise.all(nodes.map(async (node) => exchangeCode(node, app, callback.get('code'))));
  const statuses = answers.map(({ status }) => status);
  t.deepEqual(
    statuses.toSorted((first, second) => first - second),
    [200, 400],
  );
});

postgresql.register('a revocation on one node takes effect on the other', async (t) => {
  const { nodes } = await startNodes(t);
  const service = await nodes[0]!.registerService(['view_schools']);
  const token = await clientToken(nodes[0]!, service);
  const statuses = async (): Promise<number[]> =>
    Promise.all(nodes.map(async (node) => (await node.api('/schools', token)).status));
  t.deepEqual(await statuses(), [200, 200], 'both accept the token');
  await nodes[1]!.auth.revoke({ clientId: service.client.id });
  await until(async () => (await statuses()).every((status) => status === 401));
});

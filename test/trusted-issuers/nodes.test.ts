import { decodeJwt } from 'jose';

import { onEachDatabase } from '../adapters/databases.ts';
import { clusterOn } from '../harness/cluster.ts';
import type { Cluster } from '../harness/cluster.ts';
import { BOTH_SCOPES } from '../harness/platform.ts';
import type { TokenAnswer } from '../harness/platform.ts';
import { idJag, present, REFUSED, trusting } from './identity-provider.ts';

const ROUNDS = ['ann', 'bob', 'cleo'];

const ALL_ACCEPTED = Array.from({ length: 6 }, () => 200);

const grantOf = ({ body }: TokenAnswer): unknown => decodeJwt(body.access_token)['grant_id'];

async function startNodes(cluster: Cluster) {
  const options = { scopes: BOTH_SCOPES, features: [await trusting()], migrate: true };
  const nodes = [await cluster.start(options), await cluster.start(options)] as const;
  const app = await nodes[0].registerApp();
  return {
    nodes,
    assertionFor: async (sub: string) => idJag(nodes[0], app, { sub }),
    /** Presents assertions at once, at both nodes in turn. */
    presentAtOnce: async (assertions: readonly string[]) =>
      Promise.all(assertions.map(async (assertion, index) => present(nodes[index % 2]!, app, assertion))),
    present: async (node: 0 | 1, assertion: string) => present(nodes[node], app, assertion),
  };
}

onEachDatabase(
  'six presentations of an assertion at once to two nodes get one grant',
  async (t, _database, address) => {
    const { assertionFor, presentAtOnce } = await startNodes(clusterOn(t, address));
    for (const sub of ROUNDS) {
      const assertion = await assertionFor(sub);
      const answers = await presentAtOnce(Array.from({ length: 6 }, () => assertion));
      t.deepEqual(
        answers.map(({ status }) => status),
        ALL_ACCEPTED,
      );
      t.is(new Set(answers.map(grantOf)).size, 1);
    }
  },
);

onEachDatabase(
  'six assertions of a user at once to two nodes get one grant',
  async (t, _database, address) => {
    const { assertionFor, nodes, presentAtOnce } = await startNodes(clusterOn(t, address));
    for (const sub of ROUNDS) {
      const assertions = await Promise.all(Array.from({ length: 6 }, async () => assertionFor(sub)));
      const answers = await presentAtOnce(assertions);
      t.deepEqual(
        answers.map(({ status }) => status),
        ALL_ACCEPTED,
      );
      const [grant, ...more] = new Set(answers.map(grantOf));
      t.is(more.length, 0);
      // Each was used, whichever request has begun the grant.
      const again = await presentAtOnce(assertions);
      t.deepEqual([...new Set(again.map(grantOf))], [grant]);
      await nodes[1].auth.revoke({ grantId: String(grant) });
      for (const { body } of await presentAtOnce(assertions)) t.like(body, REFUSED);
    }
  },
);

onEachDatabase('what has ended at a node has ended at the other', async (t, _database, address) => {
  const { assertionFor, nodes, present: presentAt } = await startNodes(clusterOn(t, address));
  const lost = await assertionFor('ann');
  const first = await presentAt(0, lost);
  t.is(grantOf(await presentAt(1, lost)), grantOf(first));
  await nodes[1].auth.revoke({ grantId: String(grantOf(first)) });
  t.like((await presentAt(0, lost)).body, REFUSED);
  t.like((await presentAt(0, await assertionFor('ann'))).body, REFUSED);
});

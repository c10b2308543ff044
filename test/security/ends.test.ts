import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { AuditRecord } from 'koa-gatehouse';

import { mariadb, postgresql, sqlite } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { clusterOn } from '../harness/cluster.ts';
import type { Cluster } from '../harness/cluster.ts';
import { like } from '../harness/like.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';
import { ENDS } from './ends/ends.ts';
import type { End } from './ends/ends.ts';
import { BOTH_NODES, hold, serveDocument } from './ends/held.ts';
import type { Held } from './ends/held.ts';
import { directly, EVERYTHING, MCP, WITH_EVERYTHING } from './ends/nodes.ts';
import { PLACES } from './ends/places.ts';
import type { Place, PlaceName } from './ends/places.ts';

const places = Object.entries(PLACES) as [PlaceName, Place][];
const lasting = places.filter(([, { once }]) => !once);

const started = shared(async () => {
  const site = await serveDocument();
  return { site };
});

const teardowns: (() => unknown)[] = [
  async () => {
    const { site } = await started();
    return site[Symbol.asyncDispose]();
  },
];
test.after.always(async () => {
  for (const end of teardowns) await end();
});

/** Both nodes of a database, which all of its tests share. */
interface Nodes {
  readonly cluster: Cluster;
  readonly both: readonly [Platform, Platform];
}

async function startNodes(address: string): Promise<Nodes> {
  const cluster = clusterOn({ teardown: (end) => void teardowns.unshift(end) }, address);
  const start = async (): Promise<Platform> => cluster.start(EVERYTHING, WITH_EVERYTHING);
  return { cluster, both: [await start(), await start()] };
}

async function ask(
  asked: readonly (readonly [PlaceName, Place])[],
  node: Platform,
  held: Held,
  index: number,
): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const [name, place] of asked) answers[name] = await place.ask(node, held, index);
  return answers;
}

function answersOf(
  asked: readonly (readonly [PlaceName, Place])[],
  { reaches }: Partial<Pick<End, 'reaches'>>,
): Record<string, string> {
  return Object.fromEntries(asked.map(([name, { accepted }]) => [name, reaches?.[name] ?? accepted]));
}

async function endOn(t: ExecutionContext, { both, cluster }: Nodes, end: End): Promise<void> {
  const { site } = await started();
  const held = await hold(both[0], site.origin);
  for (const index of BOTH_NODES) await untilNoticed(both[index], held, { end: { reaches: {} }, index });
  const events: AuditRecord[] = [];
  const listening = both.map(({ auth }) => auth.events.on('*', (event) => void events.push(event)));
  t.teardown(() => listening.forEach((stop) => stop()));
  await end.run?.(both[0], held);
  // The last one is of the requests before, and written later.
  const caused = events.filter(({ type }) => type !== 'personal_token_used');
  like(t, caused, end.events(held));
  events.length = 0;
  const nodes = end.options ? [await cluster.start(end.options, WITH_EVERYTHING)] : both;
  if (end.options) t.teardown(async () => cluster.stop(nodes[0]));
  try {
    for (const [index, node] of nodes.entries()) {
      if (index > 0 || end.isLate !== undefined) await untilNoticed(node, held, { end, index });
      t.deepEqual(await ask(places, node, held, index), answersOf(places, end));
    }
  } finally {
    await end.undo?.(both[0], held);
  }
  like(t, events.filter(isOfEnd), end.laterEvents?.(held) ?? []);
  if (end.options ?? end.undo)
    t.deepEqual(await ask(lasting, both[0], held, 0), answersOf(lasting, {}), 'works again');
}

/** Those of the place at which tokens are revoked are none of the end. */
function isOfEnd(event: AuditRecord): boolean {
  if (event.type === 'tokens_revoked') return event.target !== 'token';
  return ['client_disabled', 'consent_withdrawn', 'logout', 'personal_token_revoked'].includes(event.type);
}

async function untilNoticed(
  node: Platform,
  held: Held,
  { end, index }: { readonly end: Pick<End, 'reaches'>; readonly index: number },
): Promise<void> {
  const noticed = JSON.stringify(answersOf(lasting, end));
  const late = Date.now() + 8000;
  await until(
    async () => Date.now() > late || JSON.stringify(await ask(lasting, node, held, index)) === noticed,
  );
}

const inSeries: TestDatabase = { ...sqlite, register: (title, run) => test.serial(title, run) };

for (const database of [inSeries, postgresql, mariadb]) {
  let nodes: Promise<Nodes> | undefined;
  for (const [name, end] of Object.entries(ENDS)) {
    // An option is that of a server, whatever its database.
    if (end.options && database !== inSeries) continue;
    database.register(`${database.name}: ${name}`, async (t) => {
      nodes ??= database.cleared().then(startNodes);
      await endOn(t, await nodes, end);
    });
  }
}

test('the matrix has no hole: each end says of each place what it answers, or why it is not reached', (t) => {
  for (const [name, { others, reaches }] of Object.entries(ENDS)) {
    const named = [...Object.keys(reaches), ...others.flatMap(([, ...unreached]) => unreached)];
    t.deepEqual(
      named.toSorted(),
      Object.keys(PLACES).toSorted(),
      `${name}: add each place to reaches or others in ENDS`,
    );
  }
});

test.serial(
  'what is revoked while its API is not in the options stays revoked when the API is back',
  async (t) => {
    const { site } = await started();
    const { both, cluster } = await startNodes(await sqlite.cleared());
    const [node] = both;
    const { agent, api, person } = await hold(node, site.origin);
    const issue = async (): Promise<string> =>
      node.auth.issueToken({ clientId: agent.client.id, userId: person.id, resource: MCP });
    const [byHost, byApp] = [await issue(), await issue()];
    const without = await cluster.start({ ...EVERYTHING, resources: {} }, WITH_EVERYTHING);
    const { refresh_token: refresh } = agent.tokens;
    await without.auth.revoke({ token: byHost });
    for (const token of [byApp, refresh]) {
      const url = directly(without).url('/oauth/revoke');
      t.is((await postForm(url, { token, ...asClient(agent) })).status, 200);
    }
    for (const [token, by] of [
      [byHost, api],
      [byApp, api],
      [refresh, agent],
    ] as const) {
      const url = directly(both[1]).url('/oauth/introspect');
      t.deepEqual((await postForm(url, { token, ...asClient(by) })).body, { active: false });
    }
  },
);

/**
 * Four nodes on a MariaDB Galera cluster of three members, each of which is written to: what is done on two members at the same
 * moment, and what a member that is killed or hangs does to the nodes.
 *
 *     npm run trial -- galera.ts
 */
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startGaleraCluster, whatIsMissing } from './galera-cluster.ts';
import { stopThroughBalancer } from './galera-kill.ts';
import { loseMembers, redeemAtOnce, startNodes, whatIsMissingForBalancing } from './galera-nodes.ts';
import {
  deleteDuringNewSecret,
  disconnectDuringAuthorization,
  endSessionDuringSignIn,
  migrateAtOnce,
  readEndsOfAllMembers,
  readWhatWasWritten,
  registerAtOnce,
  removeDuringConsent,
} from './galera-races.ts';
import { report } from './report.ts';
import type { Finding } from './report.ts';

const missing = whatIsMissing() ?? whatIsMissingForBalancing();
if (missing !== undefined) {
  console.error(`this trial needs a Galera cluster and HAProxy: ${missing}`);
  process.exit(2);
}

const findings: Finding[] = [];

async function found(part: Promise<Finding>): Promise<void> {
  const finding = await part;
  findings.push(finding);
  console.log(`${finding.broken.length === 0 ? 'kept' : 'BROKEN'}: ${finding.what}`);
}

await using cluster = await startGaleraCluster(3);
const storages = (await cluster.createDatabase('gatehouse')).map((address) => knexStorage(address));
await storages[0]!.migrate();
await found(migrateAtOnce(cluster, 12));
await found(readWhatWasWritten(storages, 1000));
await found(disconnectDuringAuthorization(storages, 700));
await found(endSessionDuringSignIn(storages, 700));
await found(readEndsOfAllMembers(storages, 300));
await found(deleteDuringNewSecret(storages, 300));
await found(registerAtOnce(storages, 100));
await found(removeDuringConsent(storages, 300));
await Promise.all(storages.map(async (storage) => storage.close()));
await found(stopThroughBalancer(cluster, 6));
{
  await using nodes = await startNodes(cluster);
  await found(redeemAtOnce(nodes, 10));
  await found(loseMembers(cluster, nodes));
}
console.log();
process.exitCode = report(findings);

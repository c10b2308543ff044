import { OAuthClient } from './client/oauth-client.ts';
import type { Contestant } from './contestants.ts';
import type { Measurement } from './measurement.ts';
import { watchOthers } from './noise.ts';
import type { Job } from './protocol.ts';
import { RunningContestant } from './running-contestant.ts';

/** Starts a server and takes the time until it has issued its first token. */
export async function measureStart({ file, startFile = file }: Contestant, job: Job): Promise<Measurement> {
  const driverBefore = process.cpuUsage();
  const shareOfOthers = watchOthers();
  const startedAt = performance.now();
  await using server = await RunningContestant.start({ file: startFile }, job);
  await using client = new OAuthClient(server.listening, { connections: 1, encoding: 'form' });
  await client.clientCredentials();
  const time = performance.now() - startedAt;
  const { cpu, peakMemory } = await server.usage();
  const driver = process.cpuUsage(driverBefore);
  return {
    operations: 1,
    perSecond: 1000 / time,
    cpu,
    p50: time,
    p99: time,
    peakMemory: peakMemory / 2 ** 20,
    statements: 0,
    others: shareOfOthers(cpu + driver.user + driver.system),
  };
}

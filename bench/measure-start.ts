import { OAuthClient } from './client/oauth-client.ts';
import type { Contestant } from './contestants.ts';
import type { Measurement } from './measurement.ts';
import { watchOtherLoad } from './noise.ts';
import type { Job } from './protocol.ts';
import { RunningContestant } from './running-contestant.ts';
import type { Start } from './works/starts.ts';

/** Measures the time from the start of a server to its first response. */
export async function measureStart(
  { file, startFile = file }: Contestant,
  job: Job,
  first: Start['first'],
): Promise<Measurement> {
  const driverBefore = process.cpuUsage();
  const otherLoad = watchOtherLoad();
  const startedAt = performance.now();
  await using server = await RunningContestant.start({ file: startFile }, job);
  await using client = new OAuthClient(server.listening, { connections: 1 });
  await first(client);
  const time = performance.now() - startedAt;
  const { cpu, memory, peakMemory } = await server.usage();
  const driver = process.cpuUsage(driverBefore);
  return {
    operations: 1,
    perSecond: 1000 / time,
    cpu,
    p50: time,
    p99: time,
    peakMemory: peakMemory / 2 ** 20,
    memory: memory / 2 ** 20,
    statements: 0,
    others: otherLoad(cpu + driver.user + driver.system),
  };
}

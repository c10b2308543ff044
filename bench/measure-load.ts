import { createHistogram } from 'node:perf_hooks';

import type { Measurement } from './measurement.ts';
import { watchOtherLoad } from './noise.ts';
import type { Usage } from './protocol.ts';
import type { RunningContestant } from './running-contestant.ts';
import type { Operations } from './works/work.ts';

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  /** The number of operations of each connection between two calls of `supply`. */
  readonly batch: number;
  /** So many, instead of some seconds. */
  readonly operations?: number | undefined;
}

/** Loads a server for some seconds: each connection sends its next request after the response. */
export async function measureLoad(
  server: RunningContestant,
  { run, supply }: Operations,
  { batch, connections, operations, seconds }: Load,
): Promise<Measurement> {
  const latencies = createHistogram();
  const used = { cpu: 0, statements: 0, time: 0 };
  let usage: Usage;
  let driverCpu = 0;
  const otherLoads: number[] = [];

  async function runConnection(connection: number, isOver: (done: number) => boolean): Promise<void> {
    for (let done = 0; !isOver(done); done += 1) {
      const startedAt = performance.now();
      await run(connection);
      latencies.record(Math.max(1, Math.round((performance.now() - startedAt) * 1000)));
    }
  }

  async function measurePart(isOver: (done: number) => boolean): Promise<void> {
    const before = await server.usage();
    const driverBefore = process.cpuUsage();
    const otherLoad = watchOtherLoad();
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: connections }, async (_, connection) => runConnection(connection, isOver)),
    );
    used.time += (performance.now() - startedAt) / 1000;
    usage = await server.usage();
    const driver = process.cpuUsage(driverBefore);
    driverCpu = driver.user + driver.system;
    used.cpu += usage.cpu - before.cpu;
    used.statements += usage.statements - before.statements;
    const share = otherLoad(driverCpu + usage.cpu - before.cpu);
    if (share !== undefined) otherLoads.push(share);
  }

  if (supply) {
    while (used.time < seconds) {
      await supply(connections * batch);
      await measurePart((done) => done >= batch);
    }
  } else if (operations !== undefined) {
    await measurePart((done) => done >= operations / connections);
  } else {
    let end: number | undefined;
    await measurePart((done) => {
      // Measured from the first request; on a busy machine it can start late.
      end ??= performance.now() + seconds * 1000;
      return done > 0 && performance.now() >= end;
    });
  }

  const { count } = latencies;
  return {
    operations: count,
    perSecond: count / used.time,
    cpu: used.cpu / count,
    p50: latencies.percentile(50) / 1000,
    p99: latencies.percentile(99) / 1000,
    peakMemory: usage!.peakMemory / 2 ** 20,
    memory: usage!.memory / 2 ** 20,
    statements: used.statements / count,
    others: otherLoads.length > 0 ? mean(otherLoads) : undefined,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { preparePlatform } from './platform.ts';
import type { Platform, PlatformOptions } from './platform.ts';
import type { Settings } from './settings.ts';

/** What a worker sends when it serves. */
const READY = 'ready';

/** More deaths than this within so many milliseconds have a reason that another start does not remove. */
const MOST_DEATHS = 5;
const WITHIN = 60_000;

/**
 * Runs the platform in several processes that share its port and its database. This one migrates, fills the database,
 * makes secrets where they are wanted, and then only sees to it that the others run.
 */
export async function startWorkers(count: number, options: PlatformOptions): Promise<Platform> {
  const { settings } = options;
  const reserved = await reservePort(settings);
  const baseUrl = settings.baseUrl ?? `http://localhost:${reserved.port}`;
  const { announcement, portalFile, close } = await preparePlatform({ ...options, baseUrl });
  await close();
  await reserved.release();
  // A worker that starts later than the first ones must find the same port, also where any was wanted.
  const stop = await keepWorkers(count, { PORT: String(reserved.port), BASE_URL: baseUrl });
  return { announcement, portalFile, stop };
}

/** Tells the process that started this one, if it is one of its workers, that it serves. */
export function reportReady(): void {
  process.send?.(READY);
}

/** Starts workers, and others in place of those that die. Resolves when all serve, to a way to stop them. */
async function keepWorkers(count: number, environment: Record<string, string>): Promise<() => Promise<void>> {
  const deaths: number[] = [];
  let isStopping = false;

  function startWorker(): Worker {
    const worker = cluster.fork(environment);
    worker.once('exit', (code, signal) => {
      if (isStopping) return;
      deaths.push(Date.now());
      if (deaths.filter((at) => Date.now() - at < WITHIN).length > MOST_DEATHS) {
        giveUp();
        return;
      }
      process.stderr.write(`A worker ended (${signal ?? code}). Another one takes its place.\n`);
      startWorker();
    });
    return worker;
  }

  cluster.setupPrimary({ args: [] });
  await Promise.all(Array.from({ length: count }, async () => serves(startWorker())));
  return async function stop() {
    isStopping = true;
    await Promise.all(Object.values(cluster.workers ?? {}).map(async (worker) => worker && end(worker)));
  };
}

function giveUp(): void {
  process.stderr.write(`More than ${MOST_DEATHS} workers have ended within ${WITHIN / 1000} s. Stopping.\n`);
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

/** Waits until a worker has said that it serves. */
async function serves(worker: Worker): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.on('message', (message) => {
    if (message === READY) resolve();
  });
  worker.once('exit', () => reject(new WorkerError('A worker did not start.')));
  await promise;
}

/** A worker could not be started. It has said itself why. */
export class WorkerError extends Error {
  override readonly name: string = 'WorkerError';
}

async function end(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = once(worker, 'exit');
  // Not worker.kill(): that would cut the requests off which the worker is still answering.
  worker.process.kill('SIGTERM');
  await ended;
}

/** Binds the port until it is released, so that one that is taken is found before anything is changed. */
async function reservePort({ host, port }: Settings): Promise<{ port: number; release(): Promise<void> }> {
  // A connection that stayed open, such as a health probe's, would keep the port from being released.
  const server = createServer((socket) => socket.destroy());
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async release() {
      server.close();
      await once(server, 'close');
    },
  };
}

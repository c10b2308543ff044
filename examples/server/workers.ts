import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { preparePlatform } from './platform.ts';
import type { Platform, PlatformOptions } from './platform.ts';
import type { Settings } from './settings.ts';

/** The message of a worker that serves requests. */
const READY = 'ready';

/** After more exits than this within so many milliseconds, restarting does not help and the platform stops. */
const MOST_EXITS = 5;
const WITHIN = 60_000;

/**
 * Runs the platform in several processes that share its port and its database. This process migrates and seeds the database,
 * and then only restarts workers that exit.
 */
export async function startWorkers(count: number, options: PlatformOptions): Promise<Platform> {
  const { settings } = options;
  const reserved = await reservePort(settings);
  const baseUrl = settings.baseUrl ?? `http://localhost:${reserved.port}`;
  const { announcement, portalFile, close } = await preparePlatform({ ...options, baseUrl });
  await close();
  await reserved.release();
  // Every worker gets the same port, also with PORT=0 and after a restart.
  const stop = await keepWorkers(count, { PORT: String(reserved.port), BASE_URL: baseUrl });
  return { announcement, portalFile, stop };
}

/** Tells the primary process that this worker serves requests. */
export function reportReady(): void {
  process.send?.(READY);
}

/** Starts workers, and replaces those that exit. Resolves, when all serve requests, to a function that stops them. */
async function keepWorkers(count: number, environment: Record<string, string>): Promise<() => Promise<void>> {
  const exits: number[] = [];
  let isStopping = false;

  function startWorker(): Worker {
    const worker = cluster.fork(environment);
    worker.once('exit', (code, signal) => {
      if (isStopping) return;
      exits.push(Date.now());
      if (exits.filter((at) => Date.now() - at < WITHIN).length > MOST_EXITS) {
        stopPlatform();
        return;
      }
      process.stderr.write(`A worker exited (${signal ?? code}). It is replaced.\n`);
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

function stopPlatform(): void {
  process.stderr.write(`More than ${MOST_EXITS} workers have exited within ${WITHIN / 1000} s. Stopping.\n`);
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

/** Waits until a worker serves requests. */
async function serves(worker: Worker): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.on('message', (message) => {
    if (message === READY) resolve();
  });
  worker.once('exit', () => reject(new WorkerError('A worker did not start.')));
  await promise;
}

/** A worker could not be started. The worker has printed the reason. */
export class WorkerError extends Error {
  override readonly name: string = 'WorkerError';
}

async function end(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = once(worker, 'exit');
  // Not worker.kill(), which would close connections with running requests.
  worker.process.kill('SIGTERM');
  await ended;
}

/** Binds the port until it is released, so that a port in use is found before the database is changed. */
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

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { gracefulStop } from '../server/shutdown.ts';
import { createApp } from './app.ts';
import { JobPool } from './job-pool.ts';
import { DEFAULTS } from './settings.ts';
import type { Settings } from './settings.ts';

/** The running service. */
export interface PdfService {
  readonly url: string;
  /** Waits for running requests, then ends the threads. */
  stop(): Promise<void>;
}

/** Starts the service. Threads start with the first jobs. */
export async function startPdfService(given: Partial<Settings> = {}): Promise<PdfService> {
  const settings = { ...DEFAULTS, ...given };
  const jobs = new JobPool(settings);
  const listener = createApp(settings, jobs).callback();
  const server = createServer((request, response) => void listener(request, response));
  const stopServer = gracefulStop(server, { running: settings.grace, arriving: settings.grace });
  // Exclusive, because workers of node:cluster would share the port, and each has its own API key.
  server.listen({ port: settings.port, host: settings.host, exclusive: true });
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async stop() {
      await stopServer();
      await jobs.stop();
    },
  };
}

// The tested server, in a process of its own, so that its memory and its errors can be measured.
import { setImmediate as nextTurn } from 'node:timers/promises';

import { defineAction } from 'koa-gatehouse';
import type { Logger } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { z } from 'zod';

import { temporaryFile } from '../../adapters/temporary-file.ts';
import { startDeveloperPlatform } from '../../developer/developers.ts';
import type { Known, Order, Report } from './swept-server.ts';

const faults: string[] = [];
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(
    event,
    (error: unknown) => void faults.push(`${event}: ${String((error as Error)?.stack ?? error)}`),
  );
}
const ignore = (): void => {};
const logger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: (fields, message) =>
    void faults.push(`${message}: ${String((fields as { err?: Error }).err?.stack)}`),
};

const School = z.object({ name: z.string().min(1).max(100), tags: z.array(z.string()).optional() });
const options = {
  type: 'school',
  title: 'Do something with a school',
  permission: 'edit_schools',
  input: School,
  output: School,
  run: ({ input }: { readonly input: z.output<typeof School> }) => input,
} as const;
const actions = [
  defineAction({ ...options, name: 'create-school-action', level: 'collection' }),
  defineAction({ ...options, name: 'rename-school-action', level: 'instance' }),
];

const platform = await startDeveloperPlatform(
  // Throttling would refuse most of the requests.
  {
    storage: knexStorage(`sqlite:${temporaryFile()}`),
    logger,
    limits: { attempts: false },
    tokens: { refreshGrace: '1 hour' },
  },
  { api: { actions } },
);

const callback = {
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;
const [app, publicApp, service, owned, doomed] = await Promise.all([
  platform.registerFor(undefined, { name: 'Reports', ...callback, firstParty: true }),
  platform.registerFor(undefined, { name: 'Widget', ...callback, confidential: false }),
  platform.registerFor(undefined, { permissions: ['edit_schools'] }),
  platform.registerFor('dora'),
  platform.registerFor('dora'),
]);
const [secret] = await platform.auth.clients.secrets(owned.client.id);

process.once('disconnect', () => process.exit());
process.on('message', (order: Order) => {
  if (order === 'end') process.exit();
  void measure();
});

async function measure(): Promise<void> {
  // What a finalizer releases, and what the last requests still hold, is gone only some collections later.
  for (let collections = 0; collections < 5; collections += 1) {
    globalThis.gc?.();
    await nextTurn();
  }
  const { external, heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const report: Report = { used: heapUsed + external, rss, cpu: (user + system) / 1e6, faults };
  process.send?.(report);
}

const known: Known = {
  origin: platform.origin,
  app,
  publicApp,
  service,
  owned,
  doomed,
  secretId: secret!.id,
};
process.send?.(known);

import cluster from 'node:cluster';

import { GatehouseError } from 'koa-gatehouse';

import { announceAsText } from './announce.ts';
import { announceAsJson } from './announcement.ts';
import { USAGE, UsageError, readArguments } from './arguments.ts';
import { startPlatform } from './platform.ts';
import { COMMAND } from './program.ts';
import { SettingsError, readSettings } from './settings.ts';
import { stopOnSignals } from './shutdown.ts';
import { reportReady, startWorkers, WorkerError } from './workers.ts';

// The platform's files contain signing keys and password hashes: readable by its own user only.
process.umask(0o077);

try {
  await run();
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
}

async function run(): Promise<void> {
  const { curl, help, json, workers, ...wanted } = readArguments(process.argv.slice(2));
  if (help) {
    process.stdout.write(USAGE);
    return;
  }
  const options = { settings: readSettings(process.env), ...wanted };
  const starting = workers > 1 ? startWorkers(workers, options) : startPlatform(options);
  // Finish a start before stopping, because an interrupted seeding delays the next start.
  stopOnSignals(async () => (await starting).stop());
  const { announcement, portalFile } = await starting;
  if (cluster.isWorker) {
    reportReady();
    return;
  }
  const text = json
    ? `${announceAsJson(announcement)}\n`
    : announceAsText(announcement, { curl, portalFile });
  process.stdout.write(text);
}

function explain(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\n\n${USAGE}`;
  if (error instanceof SettingsError || error instanceof GatehouseError)
    return error.message
      .replace(/^issuer:/, 'BASE_URL:')
      .replace(/^secrets\.keyEncryptionKey:/, 'KEY_ENCRYPTION_KEY:');
  if (error instanceof WorkerError) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `${error.message}. Stop the program that listens there, or choose another port: PORT=0 ${COMMAND} picks a free one.`;
  }
  if ('syscall' in error && (error.syscall === 'listen' || error.syscall === 'getaddrinfo')) {
    return `${error.message}: give another HOST or PORT.`;
  }
  return error.stack ?? error.message;
}

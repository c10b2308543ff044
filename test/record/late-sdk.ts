// Requests tokens in a process that registers an SDK after the server has started.
import { createRequire } from 'node:module';

import { startPlatform } from '../harness/platform.ts';
import { requestClientToken } from '../harness/tokens.ts';

const loaded = (): number =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('/@opentelemetry/'))
    .length;

await using platform = await startPlatform();
const service = await platform.registerService();
const issue = async (): Promise<unknown> => requestClientToken(platform, service);
await issue();
const before = loaded();

const { startSdk } = await import('./spans.ts');
const made = await startSdk().during(issue);
process.stdout.write(`${before} files, ${made.map(({ name }) => name).join()}\n`);

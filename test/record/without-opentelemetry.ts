// Requests a token in a process without @opentelemetry/api.
import { registerHooks } from 'node:module';
import { requestClientToken } from '../harness/tokens.ts';

registerHooks({
  resolve(name, context, next) {
    if (!name.startsWith('@opentelemetry/')) return next(name, context);
    throw Object.assign(new Error(`Cannot find package '${name}'`), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});

const isHidden = await import('@opentelemetry/api').then(
  () => false,
  () => true,
);
const { startPlatform } = await import('../harness/platform.ts');

await using platform = await startPlatform();
const service = await platform.registerService();
const { status } = await requestClientToken(platform, service);
process.stdout.write(`${isHidden ? 'hidden' : 'there'}, ${status}\n`);

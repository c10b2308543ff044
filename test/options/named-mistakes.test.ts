import test from '../harness/test.ts';
import { ActionError, createAuthServer, GatehouseError } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { people, recordingLogger, runCodeFlow, startPlatform } from '../harness/platform.ts';

const OPTIONS = { issuer: 'http://127.0.0.1:3000', users: people(), storage: memoryStorage() };

/** The error of a call. */
async function errorOf(call: () => unknown): Promise<Error> {
  try {
    await call();
  } catch (error) {
    return error as Error;
  }
  return new Error('none');
}

/** What a program does wrong, and what it reads then: the cause and the remedy. */
const MISTAKES: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  'a server that is not awaited': [
    () => (createAuthServer(OPTIONS) as unknown as { middleware(): void }).middleware(),
    /it returns a promise: write `const auth = await createAuthServer\(…\)` before you use auth\.middleware/,
  ],
  'a middleware that is passed on instead of called': [
    async () => {
      await using platform = await startPlatform();
      (platform.auth.middleware as (ctx: object) => void)({ req: {} });
    },
    /auth\.middleware: call it: app\.use\(auth\.middleware\(\)\)/,
  ],
  'a listener that is passed on instead of called': [
    async () => {
      await using platform = await startPlatform();
      (platform.auth.callback as unknown as (request: object) => void)({ rawHeaders: [] });
    },
    /auth\.callback: call it: http\.createServer\(auth\.callback\(\)\)/,
  ],
  'an issuer without a scheme': [
    async () => createAuthServer({ ...OPTIONS, issuer: 'platform.example' }),
    /issuer: .*; platform\.example has no scheme: write https:\/\/platform\.example/,
  ],
};

for (const [what, [run, said]] of Object.entries(MISTAKES))
  test(`${what} is named with its remedy`, async (t) => {
    t.regex((await errorOf(run)).message, said);
  });

test('the stack of a configuration error begins at the line of the program', async (t) => {
  const { stack } = await errorOf(async () => createAuthServer({ ...OPTIONS, issuer: 'platform.example' }));
  t.regex(
    stack!.split('\n').find((line) => line.includes('file:'))!,
    /named-mistakes\.test\.ts/,
  );
});

test('a permission of the user store that the gate lacks is warned of once', async (t) => {
  const logger = recordingLogger();
  const users = { ...people(), permissions: async () => ['view_schools', 'view_shcools'] as never };
  await using platform = await startPlatform({ users, logger });
  const { body } = await runCodeFlow(platform, await platform.registerApp());
  for (let call = 0; call < 2; call += 1)
    t.is((await platform.api('/schools', body.access_token)).status, 200);
  const warned = logger.lines.filter(({ message }) => message.startsWith('users.permissions() returned'));
  t.deepEqual(
    warned.map(({ fields }) => fields),
    [{ permission: 'view_shcools' }],
  );
});

test('an error of another copy of the package is one of this', (t) => {
  class OfAnotherCopy extends Error {}
  Object.defineProperty(OfAnotherCopy, 'name', { value: 'ActionError' });
  Object.defineProperty(OfAnotherCopy.prototype, Symbol.for('koa-gatehouse.error'), { value: true });
  t.true(new OfAnotherCopy() instanceof ActionError);
  t.false(new OfAnotherCopy() instanceof GatehouseError);
  t.false(new Error('any other') instanceof ActionError);
});

import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { StorageError } from 'koa-gatehouse';
import type { Logger } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';

/** A logger whose disk is full. */
function failingLogger(): { readonly logger: Logger; readonly asked: { times: number } } {
  const asked = { times: 0 };
  const write = (): never => {
    asked.times += 1;
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  return { asked, logger: { debug: write, info: write, warn: write, error: write } };
}

test('requests are answered when the logger throws', async (t) => {
  const { logger, asked } = failingLogger();
  let isUnreachable = false;
  const storage = around(memoryStorage(), async (_name, call) => {
    if (isUnreachable) throw new StorageError('The storage is unreachable');
    return call();
  });
  await using platform = await startPlatform({ logger, storage });
  const app = await platform.registerApp();

  const { status, body } = await runCodeFlow(platform, app);
  t.is(status, 200);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  t.is((await platform.token({ grant_type: 'nonsense' })).body.error, 'invalid_request');
  const browser = new Browser();
  const refused = await signIn(browser, await browser.open(authorizeUrl(platform, app)), 'unknown', 'wrong');
  t.is(refused.status, 422);
  t.truthy((await signIn(browser, refused)).location?.searchParams.get('code'));

  isUnreachable = true;
  t.is((await browser.open(authorizeUrl(platform, app))).status, 503);
  const unknown = { grant_type: 'client_credentials', client_id: 'unknown', client_secret: 'x' };
  t.is((await platform.token(unknown)).status, 503);
  isUnreachable = false;

  t.true(asked.times > 3, 'the logger was called');
});

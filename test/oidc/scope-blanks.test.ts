import test from '../harness/test.ts';

import { beginOn, registerDevice, startDevicePlatform } from '../devices/device.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startDevicePlatform({ openid: { algorithm: 'ES256' } }));
  const app = await platform.registerApp();
  const device = await registerDevice(platform);
  const service = await platform.registerService(['view_schools']);
  return { platform, app, device, service };
});

test('names in scope are separated by any number of blanks, also at both ends, at each endpoint', async (t) => {
  const { platform, app, service, device } = await started();
  for (const [scope, granted] of [
    ['schools:read', 'schools:read'],
    [' schools:read', 'schools:read'],
    ['schools:read ', 'schools:read'],
    ['schools:read   schools:read', 'schools:read'],
    ['', undefined],
    ['   ', undefined],
  ] as const) {
    const name = JSON.stringify(scope);
    const answer = await authorize(platform, app, { parameters: { scope } });
    const tokens = await exchangeCode(platform, app, answer.get('code'));
    t.is(tokens.body.scope, granted, `authorize, ${name}`);
    const refreshed = await exchangeRefreshToken(platform, app, tokens.body.refresh_token, { scope });
    t.is(refreshed.body.scope, granted, `refresh, ${name}`);
    t.is((await requestClientToken(platform, service, { scope })).body.scope, granted, `client, ${name}`);
    const form = { grant_type: 'client_credentials', ...asClient(service), scope };
    const posted = await postForm(platform.url('/oauth/token'), form);
    t.is(posted.body?.['scope'], granted, `form, ${name}`);
    t.is(typeof (await beginOn(platform, device, { scope })).user_code, 'string', `device, ${name}`);
  }
  const offline = await authorize(platform, app, { parameters: { scope: ' offline_access' } });
  t.is((await exchangeCode(platform, app, offline.get('code'))).body.scope, 'offline_access');
  const openid = await authorize(platform, app, { parameters: { scope: ' openid  email ' } });
  t.is((await exchangeCode(platform, app, openid.get('code'))).body.scope, 'openid email');
});

test('other characters between names are refused on a page', async (t) => {
  const { platform, app } = await started();
  for (const scope of ['schools:read\tschools:read', 'schools:read\n', '\u00a0schools:read', 'a"b']) {
    const page = await new Browser().open(authorizeUrl(platform, app, { scope }));
    t.is(page.status, 400, scope);
  }
});

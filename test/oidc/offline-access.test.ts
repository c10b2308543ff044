import { decodeJwt } from 'jose';
import type { ExecutionContext } from 'ava';

import { onEachDatabase } from '../adapters/databases.ts';
import { answer, beginOn, poll, registerDevice, signedIn } from '../devices/device.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { asClient, requestClientToken } from '../harness/tokens.ts';
import { platformOn } from './on-databases.ts';

// Who may view and edit schools.
const CLEO = ['cleo@school.example', 'open sesame'] as const;

async function refresh(
  platform: Platform,
  app: RegisteredApp,
  token: string,
  given: Record<string, string> = {},
): Promise<TokenAnswer> {
  const fields = { grant_type: 'refresh_token', ...asClient(app), refresh_token: token };
  return platform.token({ ...fields, ...given });
}

/** A token that tells who its user is, and permits nothing. */
async function permitsNothing(t: ExecutionContext, platform: Platform, token: string): Promise<void> {
  t.is(decodeJwt(token)['scope'], undefined);
  const { body, status } = await platform.api('/identity', token);
  t.is(status, 200);
  t.like(body['data'], { type: 'user', permissions: [], scopes: [] });
  t.is((await platform.api('/schools', token)).status, 403);
}

onEachDatabase(
  'offline_access beside scopes is granted, and is in no access token',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    for (const scopes of [undefined, ['schools:read', 'schools:write']]) {
      const app = await platform.registerApp({ scopes });
      // With a login and a consent, after each of which the request is sent again.
      for (const scope of ['schools:read offline_access', 'offline_access schools:read']) {
        const { body } = await runCodeFlow(platform, app, { parameters: { scope } });
        t.is(body.scope, 'schools:read offline_access');
        t.is(decodeJwt(body.access_token)['scope'], 'schools:read');
        for (const again of [{}, { scope: 'schools:read' }, { scope: 'offline_access schools:read' }]) {
          const next = await refresh(platform, app, body.refresh_token, again);
          t.is(next.body.scope, 'schools:read offline_access');
          t.is(decodeJwt(next.body.access_token)['scope'], 'schools:read');
        }
        const wider = await refresh(platform, app, body.refresh_token, {
          scope: 'offline_access schools:write',
        });
        t.is(wider.body.error, 'invalid_scope');
      }
      const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
      t.is(body.scope, 'schools:read', 'it was not requested');
    }
  },
);

onEachDatabase('offline_access alone permits nothing but to know who the user is', async (t, _, address) => {
  const platform = await platformOn(t, address);
  for (const scopes of [undefined, ['schools:read'], []]) {
    for (const firstParty of [true, false]) {
      const app = await platform.registerApp({ firstParty, scopes });
      // In the first, a login is asked for, after which the request is sent again.
      for (const [browser, prompt] of [
        [new Browser(), ''],
        [await signedIn(platform, ...CLEO), ''],
        [await signedIn(platform, ...CLEO), 'consent'],
      ] as const) {
        const parameters = { scope: 'offline_access', prompt };
        const { body } = await runCodeFlow(platform, app, { browser, parameters });
        t.is(body.scope, 'offline_access');
        await permitsNothing(t, platform, body.access_token);
        const next = await refresh(platform, app, body.refresh_token);
        t.is(next.body.scope, 'offline_access');
        await permitsNothing(t, platform, next.body.access_token);
      }
    }
  }
});

onEachDatabase('a refresh with offline_access alone is none without scopes', async (t, _, address) => {
  const platform = await platformOn(t, address);
  const app = await platform.registerApp({ firstParty: true });
  const browser = await signedIn(platform, ...CLEO);
  for (const scope of ['', 'schools:read']) {
    const { body } = await runCodeFlow(platform, app, { browser, parameters: { scope } });
    const { body: next } = await refresh(platform, app, body.refresh_token, { scope: 'offline_access' });
    await permitsNothing(t, platform, next.access_token);
    const { body: last } = await refresh(platform, app, next.refresh_token);
    t.is((await platform.api('/schools', last.access_token)).status, 200, 'as it was granted');
  }
});

onEachDatabase('offline_access of a device is granted, and permits nothing alone', async (t, _, address) => {
  const platform = await platformOn(t, address, { clients: { devices: true } });
  const browser = await signedIn(platform, ...CLEO);
  for (const scopes of [undefined, ['schools:read']]) {
    const app = await registerDevice(platform, { scopes });
    const tokensOf = async (scope: string) => {
      const { device_code: code, user_code: userCode } = await beginOn(platform, app, { scope });
      await answer(platform, browser, userCode);
      return (await poll(platform, app, code)).body as unknown as TokenAnswer['body'];
    };
    const both = await tokensOf('offline_access schools:read');
    t.is(both.scope, 'schools:read offline_access');
    t.is(decodeJwt(both.access_token)['scope'], 'schools:read');
    const alone = await tokensOf('offline_access');
    t.is(alone.scope, 'offline_access');
    await permitsNothing(t, platform, alone.access_token);
  }
});

onEachDatabase(
  'where no refresh token is issued, offline_access is an unknown scope',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const service = await platform.registerService(['view_schools']);
    for (const scope of ['offline_access', 'schools:read offline_access']) {
      const { body, status } = await requestClientToken(platform, service, { scope });
      t.is(status, 400);
      t.like(body, {
        error: 'invalid_scope',
        error_description: 'requested scope is not allowed: offline_access',
      });
    }
  },
);

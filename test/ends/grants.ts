import { decodeJwt } from 'jose';

import { personalTokens as withTokens } from 'koa-gatehouse';
import type { Administration } from 'koa-gatehouse';

import type { DeveloperPlatform } from '../developer/developers.ts';
import { beginOn, errorOf, poll, registerDevice } from '../devices/device.ts';
import type { Browser, Page } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { byHost, byRequest } from './way.ts';
import type { Way, Ways } from './way.ts';

/** The ways to end what users have granted: tokens, connections, sessions. Ann is the user, but where all of a user ends. */
export function grantWays(platform: DeveloperPlatform, operator: Administration): Ways {
  const { auth, signInAs, url } = platform;

  const accepts = (token: string): Way['works'] => {
    return async () => (await platform.api('/identity', token)).status === 200;
  };
  const signedIn = (browser: Browser): Way['works'] => {
    return async () => (await browser.get(url('/account/apps'))).status === 200;
  };
  const post = async (browser: Browser, path: string, fields: Record<string, string> = {}): Promise<Page> =>
    browser.post(url(path), new URLSearchParams(fields));
  const revoke = async (token: string, app?: RegisteredApp) =>
    postForm(url('/oauth/revoke'), { ...(app && asClient(app)), token });

  /** An app that Ann has authorized. */
  async function connect(scope = '') {
    const [app, browser] = [await platform.registerApp(), await signInAs('ann')];
    const { body } = await runCodeFlow(platform, app, { browser, parameters: { scope } });
    const grant = decodeJwt(body.access_token)['grant_id'] as string;
    const tokens = { access: body.access_token, refresh: body.refresh_token, id: body.id_token };
    return { app, client: app.client.id, browser, grant, ...tokens, works: accepts(body.access_token) };
  }

  /** A login, with the id of its session. */
  async function startSession() {
    const before = await auth.userGrants.list('ann');
    const browser = await signInAs('ann');
    const known = new Set(before.sessions.map(({ id }) => id));
    const { sessions } = await auth.userGrants.list('ann');
    return { browser, id: sessions.find((session) => !known.has(session.id))!.id };
  }

  async function createToken() {
    const token = await auth.personalTokens.create({
      userId: 'ann',
      name: 'Import',
      lifetime: '1 day',
      scopes: ['schools:read'],
    });
    return { ...token, works: accepts(token.value) };
  }

  return {
    async 'POST /oauth/revoke of an access token'() {
      const { access, app, works } = await connect();
      return byRequest(async () => revoke(access, app), works);
    },
    async 'POST /oauth/revoke of a refresh token'() {
      const { app, refresh, works } = await connect();
      return byRequest(async () => revoke(refresh, app), works);
    },
    async 'POST /oauth/revoke of a personal token'() {
      const { value, works } = await createToken();
      return byRequest(async () => revoke(value), works);
    },
    async 'GET /oauth/logout with an ID token'() {
      const { browser, id } = await connect('openid');
      const page = url(`/oauth/logout?id_token_hint=${id}`);
      return byRequest(async () => browser.get(page), signedIn(browser));
    },
    async 'POST /oauth/logout'() {
      const browser = await signInAs('ann');
      return byRequest(async () => post(browser, '/oauth/logout'), signedIn(browser));
    },
    async 'POST /oauth/logout, then the page that asks'() {
      const browser = await signInAs('ann');
      const send = [async () => post(browser, '/oauth/logout')];
      return byRequest(
        async () => (send.pop() ?? (async () => browser.get(url('/oauth/logout'))))(),
        signedIn(browser),
      );
    },
    async 'POST /oauth/device/deny'() {
      const [device, browser] = [await registerDevice(platform), await signInAs('ann')];
      const { device_code: code, user_code: userCode } = await beginOn(platform, device);
      return byRequest(
        async () => post(browser, '/oauth/device/deny', { user: 'ann', user_code: userCode }),
        async () => errorOf(await poll(platform, device, code))[1] !== 'access_denied',
      );
    },
    async 'POST /account/apps/:id/revoke'() {
      const { browser, client, works } = await connect();
      return byRequest(async () => post(browser, `/account/apps/${client}/revoke`), works);
    },
    async 'POST /account/apps/:id/grants/:grant/revoke'() {
      const { browser, client, grant, works } = await connect();
      return byRequest(async () => post(browser, `/account/apps/${client}/grants/${grant}/revoke`), works);
    },
    async 'POST /account/sessions/:id/end'() {
      const { browser: other, id } = await startSession();
      const browser = await signInAs('ann');
      return byRequest(async () => post(browser, `/account/sessions/${id}/end`), signedIn(other));
    },
    async 'POST /account/tokens/:id/revoke'() {
      const [{ id, works }, browser] = [await createToken(), await signInAs('ann')];
      return byRequest(async () => post(browser, `/account/tokens/${id}/revoke`), works);
    },
    async 'auth.revoke of an access token'() {
      const { access, works } = await connect();
      return byHost(async () => auth.revoke({ token: access }), works);
    },
    async 'auth.revoke of a refresh token'() {
      const { refresh, works } = await connect();
      return byHost(async () => auth.revoke({ token: refresh }), works);
    },
    async 'auth.revoke of a personal token'() {
      const { value, works } = await createToken();
      return byHost(async () => auth.revoke({ token: value }), works);
    },
    async 'auth.revoke of a grant'() {
      const { grant, works } = await connect();
      return byHost(async () => auth.revoke({ grantId: grant }), works);
    },
    async 'auth.revoke of a client'() {
      const { client, works } = await connect();
      return byHost(async () => auth.revoke({ clientId: client }), works);
    },
    async 'auth.revoke of a user'() {
      const browser = await signInAs('emil');
      return byHost(async () => auth.revoke({ userId: 'emil' }), signedIn(browser));
    },
    async 'administration.revoke of a grant'() {
      const { grant, works } = await connect();
      return byHost(async () => operator.revoke({ grantId: grant }), works);
    },
    async 'administration.revoke of a client'() {
      const { client, works } = await connect();
      return byHost(async () => operator.revoke({ clientId: client }), works);
    },
    async 'administration.revoke of a user'() {
      const browser = await signInAs('root');
      return byHost(async () => operator.revoke({ userId: 'root' }), signedIn(browser));
    },
    async 'auth.userGrants.revoke of an app'() {
      const { client, works } = await connect();
      return byHost(async () => auth.userGrants.revoke('ann', { clientId: client }), works);
    },
    async 'auth.userGrants.revoke of a connection'() {
      const { grant, works } = await connect();
      return byHost(async () => auth.userGrants.revoke('ann', { grantId: grant }), works);
    },
    async 'auth.userGrants.revoke of a session'() {
      const { browser, id } = await startSession();
      return byHost(async () => auth.userGrants.revoke('ann', { sessionId: id }), signedIn(browser));
    },
    async 'auth.userGrants.revoke of a personal token'() {
      const { id, works } = await createToken();
      return byHost(async () => auth.userGrants.revoke('ann', { personalTokenId: id }), works);
    },
    async 'auth.personalTokens.revoke'() {
      const { id, works } = await createToken();
      return byHost(async () => auth.personalTokens.revoke(id), works);
    },
    async 'administration.personalTokens.revoke'() {
      const { id, works } = await createToken();
      const { personalTokens } = await operator.featureMembers(withTokens());
      return byHost(async () => personalTokens.revoke(id), works);
    },
  };
}

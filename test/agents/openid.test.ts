import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { runCodeFlow, signOut } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { until } from '../harness/until.ts';
import { AGENT as SCHOOL_AGENT, appOf, manage, register, registered, startOpen } from './apps.ts';
import { OPENID } from '../openid/options.ts';
import { startPublicApps } from '../openid/told-apps.ts';

const LOGOUT = {
  post_logout_redirect_uris: ['https://agent.example/bye'],
  backchannel_logout_uri: 'https://agent.example/logout',
};
const AGENT = { ...SCHOOL_AGENT, scope: 'openid' };
const OPEN = { openid: OPENID, registration: { scopes: ['openid'] } } as const;

test('an app registers where it is told of logouts, and changes it', async (t) => {
  const platform = await startOpen(t, OPEN);
  const registration = await registered(platform, {
    ...AGENT,
    ...LOGOUT,
    backchannel_logout_session_required: false,
  });
  // Each logout token has a `sid`, whatever the app says that it needs.
  const told = { ...LOGOUT, backchannel_logout_session_required: true };
  like(t, registration, told);
  const { client_id } = registration;
  t.like(await platform.auth.clients.find(client_id), {
    postLogoutRedirectUris: LOGOUT.post_logout_redirect_uris,
    backchannelLogoutUri: LOGOUT.backchannel_logout_uri,
  });
  like(t, (await manage(registration, 'GET')).body, told);

  const elsewhere = { ...AGENT, client_id, backchannel_logout_uri: 'https://agent.example/elsewhere' };
  const changed = (await manage(registration, 'PUT', elsewhere)).body!;
  t.is(changed['backchannel_logout_uri'], 'https://agent.example/elsewhere');
  t.false('post_logout_redirect_uris' in changed);
  const without = (await manage(registration, 'PUT', { ...AGENT, client_id })).body!;
  t.false(Object.keys(without).some((member) => member.includes('logout')));
  t.like(await platform.auth.clients.find(client_id), {
    postLogoutRedirectUris: [],
    backchannelLogoutUri: undefined,
  });
});

const FORM = /^backchannel_logout_uri: give an https URL/;
const REFUSED: [metadata: object, description: RegExp][] = [
  [{ backchannel_logout_uri: 'http://agent.example/logout' }, FORM],
  [{ backchannel_logout_uri: 'https://agent.example/#logout' }, FORM],
  [{ backchannel_logout_uri: 'https://a:b@agent.example/logout' }, FORM],
  [{ backchannel_logout_uri: 'agent:logout' }, FORM],
  [{ backchannel_logout_uri: '' }, FORM],
  [{ backchannel_logout_uri: 'https://127.0.0.1/logout' }, /^backchannel_logout_uri: give a public address/],
  [{ backchannel_logout_uri: ['https://agent.example/logout'] }, /^backchannel_logout_uri: give a string/],
  [{ backchannel_logout_session_required: 'yes' }, /^backchannel_logout_session_required: give a boolean/],
  [{ post_logout_redirect_uris: 'https://agent.example/bye' }, /^post_logout_redirect_uris: give an array/],
  [{ post_logout_redirect_uris: ['http://agent.example/bye'] }, /^post_logout_redirect_uris\[0\]: use https/],
];

test('a wrong address for logouts is refused, and says what is wrong', async (t) => {
  const platform = await startOpen(t, OPEN);
  const registration = await registered(platform, AGENT);
  for (const [metadata, description] of REFUSED) {
    for (const answer of [
      await register(platform, { ...AGENT, ...metadata }),
      await manage(registration, 'PUT', { ...AGENT, client_id: registration.client_id, ...metadata }),
    ]) {
      t.deepEqual([answer.status, answer.body!['error']], [400, 'invalid_client_metadata'], answer.text);
      t.regex(answer.body!['error_description'] as string, description);
    }
  }
});

test('without openid, the members are ignored as all that are not known', async (t) => {
  const platform = await startOpen(t);
  const sent = { ...AGENT, scope: 'schools:read', ...LOGOUT };
  const registration = await registered(platform, { ...sent, backchannel_logout_session_required: 'yes' });
  t.false(Object.keys(registration).some((member) => member.includes('logout')));
  t.like(await platform.auth.clients.find(registration.client_id), {
    postLogoutRedirectUris: [],
    backchannelLogoutUri: undefined,
  });
  // What it was registered with while the option was on stays.
  await platform.auth.clients.update(registration.client_id, {
    backchannelLogoutUri: LOGOUT.backchannel_logout_uri,
  });
  await manage(registration, 'PUT', { ...sent, client_id: registration.client_id, client_name: 'Agent 2' });
  t.like(await platform.auth.clients.find(registration.client_id), {
    name: 'Agent 2',
    backchannelLogoutUri: LOGOUT.backchannel_logout_uri,
  });
});

test('an app that registered itself is told of a logout', async (t) => {
  await using site = await startPublicApps();
  const platform = await startOpen(t, { ...OPEN, mounting: ON_LOOPBACK });
  const registration = await registered(platform, {
    ...AGENT,
    backchannel_logout_uri: `${site.origin}/logout`,
  });
  const browser = new Browser();
  const { body } = await runCodeFlow(platform, await appOf(platform, registration), {
    browser,
    parameters: { scope: 'openid' },
  });
  await signOut(platform, browser);
  await until(() => site.received.length === 1);
  t.like(decodeJwt(site.tokensOf('/logout')[0]!), {
    aud: registration.client_id,
    sid: decodeJwt(body.id_token!)['sid'] as string,
  });
});

import test from '../harness/test.ts';
import { agents, devices, pushedRequests } from 'koa-gatehouse';
import type { Client, Feature } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import {
  authorizeUrl,
  BOTH_SCOPES,
  completeFlow,
  hasCode,
  signedIn,
  startPlatform,
} from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { pushedUrl, startPushPlatform } from './push.ts';

test('required: a plain request is refused, with the reason', async (t) => {
  await using platform = await startPushPlatform({ required: true });
  const app = await platform.registerApp();
  const page = await new Browser().open(authorizeUrl(platform, app));
  t.is(page.status, 400);
  const browser = await signedIn(platform);
  const { location } = await browser.open(authorizeUrl(platform, app));
  t.like(Object.fromEntries(location!.searchParams), {
    error: 'invalid_request',
    error_description: 'Pushed Authorization Request must be used',
    state: 'xyz',
  });
});

test('required of some clients: the others need not push', async (t) => {
  await using platform = await startPushPlatform({ required: ({ confidential }) => confidential });
  const metadata = (await send(platform.url('/.well-known/oauth-authorization-server'))).body!;
  t.false('require_pushed_authorization_requests' in metadata);
  const app = await platform.registerApp();
  const other = await platform.registerApp({ confidential: false });
  const browser = await signedIn(platform);
  const refused = await browser.open(authorizeUrl(platform, app));
  t.is(refused.location!.searchParams.get('error'), 'invalid_request');
  t.true(hasCode({ location: await completeFlow(browser, await pushedUrl(platform, app)) } as never));
  const plain = await completeFlow(browser, authorizeUrl(platform, other, pkce().parameters));
  t.true(plain.searchParams.has('code'));
});

/** In JavaScript, a function may return anything. */
const byName = ({ name }: Client): boolean => (name === 'Odd' ? (1 as never) : name === 'Careful');

test('what a function says counts from the next change of the client on, and the stricter of odd answers', async (t) => {
  await using platform = await startPushPlatform({ required: byName });
  const { client, redirectUri } = await platform.registerApp({ name: 'Careless' });
  const begin = async (): Promise<number> =>
    (await new Browser().open(authorizeUrl(platform, { client, redirectUri }))).status;
  t.is(await begin(), 200);
  for (const [name, status] of [
    ['Careful', 400],
    ['Odd', 400],
    ['Other', 200],
  ] as const) {
    await platform.auth.clients.update(client.id, { name });
    t.is(await begin(), status, name);
  }
});

/** What the doctor finds. */
const findingsOf = async (
  required: NonNullable<Parameters<typeof pushedRequests>[0]>['required'],
  more: Feature[],
): Promise<unknown> => {
  await using platform = await startPlatform({
    scopes: BOTH_SCOPES,
    features: [pushedRequests({ required }), ...more],
  });
  return (await platform.auth.doctor()).map(({ code, severity }) => [code, severity]);
};

test('the doctor warns of agents, which cannot push', async (t) => {
  const admitting = [agents({ documents: { scopes: ['schools:read'] }, registration: false })];
  t.deepEqual(await findingsOf(true, admitting), [['pushing_required_of_agents', 'warning']]);
  t.deepEqual(await findingsOf(({ source }) => source === 'manual', admitting), []);
  t.deepEqual(await findingsOf(true, [devices()]), []);
});

test('the documentation of the API has lines that push, where each app has to', async (t) => {
  for (const [required, isPushed] of [
    [true, true],
    [({ confidential }: Client) => confidential, false],
  ] as const) {
    await using platform = await startPushPlatform({ required });
    const { text } = await send(platform.url('/api/v1/docs'));
    t.is(text.includes('/oauth/par'), isPushed);
    t.is(text.includes('oauth/authorize?response_type='), !isPushed);
  }
});

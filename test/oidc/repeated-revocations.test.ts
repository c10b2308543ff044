// What a database with a synchronous standby says of a change is tested with the storage; here what the server asks it.
import { decodeJwt } from 'jose';
import test from 'ava';
import { createAdministration, StorageError } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { Browser } from '../harness/browser.ts';
import { authorizeUrl, recordingLogger, signedIn, startPlatform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { asClient, requestClientToken } from '../harness/tokens.ts';
import { familiesOf } from './families.ts';

const NOT_REPLICATED = 'The database committed a change without its synchronous standby.';

/** Calls that change something, besides those for which no request waits, and confirm(). */
const CHANGES =
  /^(?:confirm$|clients\.(?:insert|update|delete)|(?:consents|sessions)\.delete|grants\.revoke|keys\.insert|revocations\.revoke)/;

/** A storage of which it is not known whether its changes last, while `isLost`. */
function startStorage() {
  const state = { isLost: false };
  const storage = around({ ...memoryStorage(), confirm: async () => undefined }, async (name, call) => {
    const result = await call();
    if (state.isLost && CHANGES.test(name)) throw new StorageError(NOT_REPLICATED);
    return result;
  });
  return { state, storage };
}

const UNKNOWN = { status: 503, code: 'ERR_STORAGE', message: NOT_REPLICATED };

test('a revocation that is repeated answers success only when it is known to last', async (t) => {
  const { state, storage } = startStorage();
  await using platform = await startPlatform({ storage });
  const { auth } = platform;
  const app = await platform.registerApp({ firstParty: true });
  const { family, guard } = familiesOf(platform, app);
  const isAcceptedBy = (token: string) => async (): Promise<boolean> => {
    const seen = await guard(token);
    if (seen !== 200) t.regex(String(seen), /^token_(revoked|holder_gone)$/);
    return seen === 200;
  };

  const byHost = (call: () => Promise<unknown>) => async (): Promise<boolean> => {
    const error = await call().then(
      () => undefined,
      (thrown: StorageError) => thrown,
    );
    if (error) t.like(error, UNKNOWN);
    return !error;
  };
  const atEndpoint = (token: string) => async (): Promise<boolean> => {
    const { body, status } = await postForm(platform.url('/oauth/revoke'), { ...asClient(app), token });
    t.like(
      { status, body },
      status === 200 ? { body: {} } : { status: 503, body: { error: 'temporarily_unavailable' } },
    );
    return status === 200;
  };
  const onPage = (browser: Browser, path: string, isDone: RegExp) => async (): Promise<boolean> => {
    const page = await browser.follow(await browser.post(platform.url(path), new URLSearchParams()));
    if (page.status === 200) t.regex(page.text, isDone);
    else t.is(page.status, 503);
    return page.status === 200;
  };

  const [access, refresh, host, hostFamily, grant] = [
    await family(),
    await family(),
    await family(),
    await family(),
    await family(),
  ];
  const ofCleo = await family(app, await signedIn(platform, 'cleo@school.example', 'open sesame'));
  const [ended, disabled] = [await platform.registerApp(), await platform.registerApp()];
  const [ofEnded, ofDisabled] = [await family(ended), await family(disabled)];
  const service = await platform.registerService();
  const [secret] = await auth.clients.secrets(service.client.id);
  const connected = await platform.registerApp({ name: 'Timetable' });
  const [bob, leaving] = [
    await signedIn(platform, 'bob@school.example', 'battery staple'),
    await signedIn(platform, 'bob@school.example', 'battery staple'),
  ];
  const ofConnected = await family(connected, bob);
  const ofGrant = decodeJwt(grant.access)['grant_id'] as string;

  /** Ways to end something, which resolve to whether success was answered, and whether what was ended is accepted. */
  const kinds: Readonly<Record<string, readonly [() => Promise<boolean>, () => Promise<boolean>]>> = {
    '/oauth/revoke of an access token': [atEndpoint(access.access), isAcceptedBy(access.access)],
    '/oauth/revoke of a refresh token': [atEndpoint(refresh.refresh), isAcceptedBy(refresh.access)],
    'revoke({ token }) of an access token': [
      byHost(async () => auth.revoke({ token: host.access })),
      isAcceptedBy(host.access),
    ],
    'revoke({ token }) of a refresh token': [
      byHost(async () => auth.revoke({ token: hostFamily.refresh })),
      isAcceptedBy(hostFamily.access),
    ],
    'revoke({ grant })': [byHost(async () => auth.revoke({ grant: ofGrant })), isAcceptedBy(grant.access)],
    'revoke({ user })': [byHost(async () => auth.revoke({ user: '3' })), isAcceptedBy(ofCleo.access)],
    'revoke({ client })': [
      byHost(async () => auth.revoke({ client: ended.client.id })),
      isAcceptedBy(ofEnded.access),
    ],
    'clients.disable': [
      byHost(async () => auth.clients.disable(disabled.client.id)),
      isAcceptedBy(ofDisabled.access),
    ],
    'clients.deleteSecret': [
      byHost(async () => auth.clients.deleteSecret(service.client.id, secret!.id)),
      async () => (await requestClientToken(platform, service)).status === 200,
    ],
    'disconnecting an app': [
      onPage(bob, `/account/apps/${connected.client.id}/disconnect`, /is disconnected/),
      isAcceptedBy(ofConnected.access),
    ],
    'logging out': [
      onPage(leaving, '/oauth/logout', /signed out/),
      async () => (await leaving.open(authorizeUrl(platform, app))).location !== undefined,
    ],
  };
  for (const [name, [, isAccepted]] of Object.entries(kinds)) t.true(await isAccepted(), name);
  state.isLost = true;
  for (const round of ['first', 'second', 'third'])
    for (const [name, [end]] of Object.entries(kinds)) t.false(await end(), `${name}, the ${round} time`);
  state.isLost = false;
  for (const [name, [end, isAccepted]] of Object.entries(kinds)) {
    t.true(await end(), name);
    t.false(await isAccepted(), name);
  }
});

test('a server signs only with a key that is known to last', async (t) => {
  const { state, storage } = startStorage();
  const administration = createAdministration({ storage, logger: recordingLogger() });
  const { client, secret } = await administration.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
  });
  const service = { client, secret: secret!.value };
  state.isLost = true;
  // Fails when it adds its first keys, which are there for the next one.
  for (const use of ['token', 'cookie'] as const) {
    await t.throwsAsync(startPlatform({ storage }), { code: 'ERR_STORAGE' });
    t.is((await storage.keys.list(use)).length, 1);
  }
  await using platform = await startPlatform({ storage });
  const { body, headers, status } = await requestClientToken(platform, service);
  t.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
  t.not(headers.get('retry-after'), null);
  await t.throwsAsync(platform.auth.issueToken({ client: client.id }), { code: 'ERR_STORAGE' });

  state.isLost = false;
  t.is((await requestClientToken(platform, service)).status, 200);
  state.isLost = true;
  t.is((await requestClientToken(platform, service)).status, 200, 'it is not asked for again');
});

test('a client that was imported is present when it is known to last', async (t) => {
  const { state, storage } = startStorage();
  const administration = createAdministration({ storage, logger: recordingLogger() });
  const imported = {
    id: '7',
    name: 'Timetable',
    grantType: 'authorization_code',
    redirectUris: ['https://timetable.example/callback'],
  } as const;
  state.isLost = true;
  for (const time of ['first', 'second', 'third'])
    await t.throwsAsync(administration.importClient(imported), { code: 'ERR_STORAGE' }, time);
  state.isLost = false;
  t.is(await administration.importClient(imported), 'present');
});

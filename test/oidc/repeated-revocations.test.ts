// Long: it starts a PostgreSQL server with a standby.
import { decodeJwt } from 'jose';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { createAdministration, StorageError } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, recordingLogger, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, requestClientToken } from '../harness/tokens.ts';
import { familiesOf } from './families.ts';
import { sayMissing } from '../adapters/databases.ts';
import { findPrograms } from '../adapters/scratch-server.ts';
import { POSTGRESQL_KIND, startStandbyPair } from '../adapters/standby-pair.ts';

const NOT_REPLICATED =
  'The database committed a change without its synchronous standby, because the wait for it was cancelled. It is not known whether the change lasts.';

/** A way to end something. */
interface Kind {
  readonly name: string;
  /** Resolves to `true` when success was answered, and to `false` for 503. */
  readonly end: () => Promise<boolean>;
  /** Whether that which was ended is accepted. */
  readonly isAccepted: () => Promise<boolean>;
}

const programs = findPrograms(POSTGRESQL_KIND);

if (programs === undefined) {
  sayMissing(`there is no ${POSTGRESQL_KIND.program}: install PostgreSQL as Debian packages it`);
} else {
  test.serial(
    'a revocation that is repeated answers success only when a promoted standby has it',
    async (t) => {
      await using pair = await startStandbyPair(programs);
      const storage = knexStorage(pair.host, { listen: false });
      await using platform = await startPlatform({ storage, tokens: { revocationLag: '1 second' } });
      const kinds = await startAll(t, platform);
      for (const { isAccepted, name } of kinds) t.true(await isAccepted(), `${name}: accepted at first`);

      await pair.loseStandby();
      for (const { end, name } of kinds) t.false(await end(), `${name}: the first is not known to last`);
      // Again and again: it does not become known by being asked for.
      for (const round of ['second', 'third']) {
        const successful: string[] = [];
        for (const { end, name } of kinds) if (await end()) successful.push(name);
        t.deepEqual(successful, [], `answered with success the ${round} time, without the standby`);
      }

      await pair.bringStandbyBack();
      for (const { end, name } of kinds) t.true(await end(), `${name}: the standby has it`);
      for (const { end, name } of kinds) t.true(await end(), `${name}: and a later repetition`);

      await pair.failOver();
      for (const { isAccepted, name } of kinds)
        t.false(await isAccepted(), `${name}: the promoted standby has it`);
    },
  );

  test.serial(
    'a server starts without its standby, and signs only with a key that the standby has',
    async (t) => {
      await using pair = await startStandbyPair(programs);
      const storage = knexStorage(pair.host, { listen: false });
      await storage.migrate();
      const administration = createAdministration({ storage, logger: recordingLogger() });
      const { client, secret } = await administration.clients.create({
        name: 'Nightly',
        grantType: 'client_credentials',
      });
      const service = { client, secret: secret!.value, redirectUri: '' };

      await pair.loseStandby();
      // Fails when it adds its first keys, which are there for the next one.
      for (const use of ['token', 'cookie'] as const) {
        await t.throwsAsync(startPlatform({ storage }), { code: 'ERR_STORAGE' });
        t.is((await storage.keys.list(use)).length, 1);
      }
      await using platform = await startPlatform({ storage });
      const request = { grant_type: 'client_credentials', ...asClient(service) };
      for (const time of ['first', 'second']) {
        const { body, headers, status } = await platform.token(request);
        t.like({ status, error: body.error }, { status: 503, error: 'temporarily_unavailable' }, time);
        t.not(headers.get('retry-after'), null);
      }
      await t.throwsAsync(platform.auth.issueToken({ client: client.id }), { code: 'ERR_STORAGE' });

      await pair.bringStandbyBack();
      const { body, status } = await platform.token(request);
      t.is(status, 200);
      await pair.loseStandby();
      t.is((await platform.token(request)).status, 200, 'the key was confirmed, and is not asked for again');
      await pair.bringStandbyBack();
      await pair.failOver();
      t.is((await platform.api('/identity', body.access_token)).status, 200);
    },
  );

  test.serial('a client that was imported is present when the standby has it', async (t) => {
    await using pair = await startStandbyPair(programs);
    const storage = knexStorage(pair.host, { listen: false });
    await storage.migrate();
    const administration = createAdministration({ storage, logger: recordingLogger() });
    const imported = {
      id: '7',
      name: 'Timetable',
      grantType: 'authorization_code',
      redirectUris: ['https://timetable.example/callback'],
    } as const;

    await pair.loseStandby();
    for (const time of ['first', 'second', 'third'])
      await t.throwsAsync(administration.importClient(imported), { code: 'ERR_STORAGE' }, time);
    await pair.bringStandbyBack();
    t.is(await administration.importClient(imported), 'present');
    await pair.failOver();
    t.is((await storage.clients.find('7'))?.client.name, 'Timetable');
  });
}

async function startAll(t: ExecutionContext, platform: Platform): Promise<readonly Kind[]> {
  const { auth } = platform;
  const app = await platform.registerApp({ firstParty: true });
  const { family, guard } = familiesOf(platform, app);
  const passes = async (token: string): Promise<boolean> => {
    const result = await guard(token);
    t.true([200, 'token_revoked', 'token_holder_gone'].includes(result as string), String(result));
    return result === 200;
  };

  const ofHost = async (call: () => Promise<unknown>): Promise<boolean> => {
    try {
      await call();
      return true;
    } catch (error) {
      t.true(error instanceof StorageError);
      t.like(error, { status: 503, code: 'ERR_STORAGE', message: NOT_REPLICATED });
      return false;
    }
  };
  const atEndpoint = async (token: string): Promise<boolean> => {
    const { status, text } = await postForm(`${platform.origin}/oauth/revoke`, { ...asClient(app), token });
    if (status === 200) {
      t.is(text, '{}');
      return true;
    }
    t.is(status, 503);
    t.like(JSON.parse(text), { error: 'temporarily_unavailable' });
    return false;
  };
  const onPage = async (browser: Browser, path: string, isDone: RegExp): Promise<boolean> => {
    const page = await browser.follow(await browser.post(platform.url(path), new URLSearchParams()));
    if (page.status === 200) {
      t.regex(page.text, isDone);
      return true;
    }
    t.is(page.status, 503);
    return false;
  };
  const login = async (person: string, password: string): Promise<Browser> => {
    const browser = new Browser();
    const page = await signIn(browser, await browser.open(platform.url('/oauth/login')), person, password);
    t.is(page.status, 200);
    return browser;
  };

  const [access, refresh, host, hostFamily, grant] = await Promise.all(
    Array.from({ length: 5 }, async () => family()),
  );
  const ofCleo = await family(app, await login('cleo@school.example', 'open sesame'));
  const ended = await platform.registerApp({ firstParty: true });
  const ofEnded = await family(ended);
  const disabled = await platform.registerApp({ firstParty: true });
  const ofDisabled = await family(disabled);
  const service = await platform.registerService();
  const [secret] = await auth.clients.secrets(service.client.id);
  const connected = await platform.registerApp({ name: 'Timetable' });
  const bob = await login('bob@school.example', 'battery staple');
  const ofConnected = await family(connected, bob);
  const leaving = await login('bob@school.example', 'battery staple');

  return [
    {
      name: '/oauth/revoke of an access token',
      end: async () => atEndpoint(access!.access),
      isAccepted: async () => passes(access!.access),
    },
    {
      name: '/oauth/revoke of a refresh token',
      end: async () => atEndpoint(refresh!.refresh),
      isAccepted: async () => passes(refresh!.access),
    },
    {
      name: 'revoke({ token }) of an access token',
      end: async () => ofHost(async () => auth.revoke({ token: host!.access })),
      isAccepted: async () => passes(host!.access),
    },
    {
      name: 'revoke({ token }) of a refresh token',
      end: async () => ofHost(async () => auth.revoke({ token: hostFamily!.refresh })),
      isAccepted: async () => passes(hostFamily!.access),
    },
    {
      name: 'revoke({ grant })',
      end: async () =>
        ofHost(async () => auth.revoke({ grant: decodeJwt(grant!.access)['grant_id'] as string })),
      isAccepted: async () => passes(grant!.access),
    },
    {
      name: 'revoke({ user })',
      end: async () => ofHost(async () => auth.revoke({ user: '3' })),
      isAccepted: async () => passes(ofCleo.access),
    },
    {
      name: 'revoke({ client })',
      end: async () => ofHost(async () => auth.revoke({ client: ended.client.id })),
      isAccepted: async () => passes(ofEnded.access),
    },
    {
      name: 'clients.disable',
      end: async () => ofHost(async () => auth.clients.disable(disabled.client.id)),
      isAccepted: async () => passes(ofDisabled.access),
    },
    {
      name: 'clients.deleteSecret',
      end: async () => ofHost(async () => auth.clients.deleteSecret(service.client.id, secret!.id)),
      isAccepted: async () => authenticates(platform, service),
    },
    {
      name: 'disconnecting an app',
      end: async () => onPage(bob, `/account/apps/${connected.client.id}/disconnect`, /is disconnected/),
      isAccepted: async () => passes(ofConnected.access),
    },
    {
      name: 'logging out',
      end: async () => onPage(leaving, '/oauth/logout', /signed out/),
      isAccepted: async () => {
        const page = await leaving.open(authorizeUrl(platform, app));
        t.true(page.location !== undefined || page.heading === 'Sign in');
        return page.location !== undefined;
      },
    },
  ];

  async function authenticates(of: Platform, client: RegisteredApp): Promise<boolean> {
    const { body, status } = await requestClientToken(of, client);
    if (status !== 200) t.is(body.error, 'invalid_client');
    return status === 200;
  }
}

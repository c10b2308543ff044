import { decodeJwt, decodeProtectedHeader } from 'jose';
import test from 'ava';
import { ClientNotFoundError, ConfigError } from 'koa-gatehouse';
import type { AuditRecordOf, IssueTokenOptions } from 'koa-gatehouse';

import { onEachDatabase } from '../adapters/databases.ts';
import { like } from '../harness/like.ts';
import { people, startPlatform } from '../harness/platform.ts';
import { platformOn } from './on-databases.ts';

test('auth.issueToken() issues a token like the token endpoint, with the given lifetime', async (t) => {
  await using platform = await startPlatform();
  const { auth } = platform;
  const app = await platform.registerApp();
  const service = await platform.registerService(['view_schools']);

  const ofUser = await auth.issueToken({
    client: app.client.id,
    user: '1',
    scopes: ['schools:read'],
    lifetime: '1 hour',
  });
  t.is(decodeProtectedHeader(ofUser).typ, 'at+jwt');
  const claims = decodeJwt(ofUser);
  t.like(claims, {
    iss: auth.issuer,
    aud: auth.issuer,
    sub: '1',
    client_id: app.client.id,
    principal: 'user',
    scope: 'schools:read',
  });
  t.is(claims.exp! - claims.iat!, 3600);
  t.is((await platform.api('/schools', ofUser)).status, 200);
  like(t, (await platform.api('/identity', ofUser)).body, {
    data: { type: 'user', id: '1', scopes: ['schools:read'] },
  });

  const ofClient = await auth.issueToken({ client: service.client.id });
  t.is(decodeJwt(ofClient).exp! - decodeJwt(ofClient).iat!, 31_536_000);
  t.is((await platform.api('/schools', ofClient)).status, 200);

  await auth.audit.flush();
  const records = (await auth.audit.list({
    types: ['token_issued'],
  })) as readonly AuditRecordOf<'token_issued'>[];
  t.deepEqual(
    records.map(({ clientId, grantId, grantType, userId }) => ({ clientId, userId, grantId, grantType })),
    [
      { clientId: service.client.id, userId: undefined, grantId: undefined, grantType: 'host' },
      { clientId: app.client.id, userId: '1', grantId: String(claims['grant_id']), grantType: 'host' },
    ],
  );
  t.false(JSON.stringify(records).includes(ofUser.split('.')[2]!));

  await auth.revoke({ grant: String(claims['grant_id']) });
  t.is((await platform.api('/schools', ofUser)).status, 401);
});

// Read before the client and the user, and stored in the row of the grant.
onEachDatabase(
  'an end of the user or the client during auth.issueToken() ends the token',
  async (t, _, address) => {
    const users = people();
    let duringCall: (() => Promise<void>) | undefined;
    const once = async (): Promise<undefined> => {
      const call = duringCall;
      duringCall = undefined;
      await call?.();
      return undefined;
    };
    const platform = await platformOn(t, address, {
      users: {
        ...users,
        async find(id) {
          await once();
          return users.find(id);
        },
      },
      tokens: { claims: once },
    });
    const app = (await platform.registerApp()).client.id;
    const service = (await platform.registerService(['view_schools'])).client.id;
    for (const [options, target] of [
      [{ client: app, user: '1' }, { user: '1' }],
      [{ client: service }, { client: service }],
    ] as const) {
      duringCall = async () => platform.auth.revoke(target);
      const late = await platform.api('/schools', await platform.auth.issueToken(options));
      t.deepEqual([late.status, late.body['code']], [401, 'token_revoked']);
      t.is((await platform.api('/schools', await platform.auth.issueToken(options))).status, 200);
    }
  },
);

test('without scopes those of the registration of the client apply', async (t) => {
  await using platform = await startPlatform();
  const { auth } = platform;
  const listed = await platform.registerApp({ scopes: ['schools:read'] });
  const free = await platform.registerApp();
  const scopesOf = async (given: IssueTokenOptions): Promise<unknown> =>
    decodeJwt(await auth.issueToken(given))['scope'];
  t.is(await scopesOf({ client: listed.client.id, user: '1' }), 'schools:read');
  t.is(await scopesOf({ client: listed.client.id, user: '1', scopes: [] }), 'schools:read');
  t.is(await scopesOf({ client: free.client.id, user: '1' }), undefined);
  t.is(
    await scopesOf({ client: free.client.id, user: '1', scopes: ['schools:read', 'schools:read'] }),
    'schools:read',
  );
});

test('invalid options are refused with their names, and nothing is issued', async (t) => {
  await using platform = await startPlatform({ tokens: { lifetimes: { accessToken: '1 hour' } } });
  const { auth } = platform;
  const app = (await platform.registerApp()).client.id;
  const service = (await platform.registerService()).client.id;
  const disabled = (await platform.registerApp()).client.id;
  await auth.clients.disable(disabled);
  const none = (await platform.registerApp({ scopes: [] })).client.id;

  const mistakes: [given: object | undefined, option: string, remedy: RegExp][] = [
    [{}, 'client', /^pass a client_id/],
    [{ client: { id: app } }, 'client', /^pass a client_id/],
    [{ client: app, users: '1' }, 'users', /^there is no such option; did you mean user\?/],
    [{ client: app, user: { id: '1' } }, 'user', /^pass a user's id/],
    [{ client: app, user: '99' }, 'user', /^users\.find\(\) finds no user/],
    [{ client: app }, 'user', /acts for users only .*; pass the id of a user$/],
    [{ client: service, user: '1' }, 'user', /acts for itself only/],
    [{ client: disabled, user: '1' }, 'client', /is disabled; enable it first$/],
    [{ client: app, user: '1', scopes: 'schools:read' }, 'scopes', /^list the names of the scopes, such as/],
    [{ client: app, user: '1', scopes: ['x'] }, 'scopes', /^the server has no scope "x"$/],
    [{ client: none, user: '1', scopes: ['schools:read'] }, 'scopes', /may not ask for the scope/],
    [{ client: none, user: '1' }, 'scopes', /is registered for no scope/],
    [{ client: service, lifetime: 'soon' }, 'lifetime', /^give seconds, or a number and a unit/],
    [{ client: service, lifetime: 0 }, 'lifetime', /at least 1 s$/],
    [{ client: service, lifetime: '61 min' }, 'lifetime', /^at most lifetimes.accessToken, which is 3600 s/],
  ];
  await t.throwsAsync(auth.issueToken(undefined as never), {
    code: 'ERR_CONFIG',
    message: /^issueToken\(\): pass an object/,
  });
  for (const [given, option, remedy] of mistakes) {
    const error = await t.throwsAsync(auth.issueToken(given as IssueTokenOptions), {
      instanceOf: ConfigError,
    });
    t.is(error.option, `issueToken({ ${option} })`);
    t.regex(error.message.slice(error.option.length + 2), remedy);
  }
  await t.throwsAsync(auth.issueToken({ client: 'unknown' }), { instanceOf: ClientNotFoundError });
  await auth.audit.flush();
  t.deepEqual(await auth.audit.list({ types: ['token_issued'] }), []);
});

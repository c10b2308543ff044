import { decodeJwt, decodeProtectedHeader } from 'jose';
import test from '../harness/test.ts';
import { ConfigError } from 'koa-gatehouse';

import { onEachDatabase } from '../adapters/databases.ts';
import { like } from '../harness/like.ts';
import { people, startPlatform } from '../harness/platform.ts';
import { platformOn } from './on-databases.ts';
import type { AuditRecord } from '../../lib/contracts/audit.ts';
import { ClientNotFoundError } from '../../lib/errors.ts';
import type { IssueTokenOptions } from '../../lib/token/issue-token.ts';

test('auth.issueToken() issues a token like the token endpoint, with the given lifetime', async (t) => {
  await using platform = await startPlatform();
  const { auth } = platform;
  const app = await platform.registerApp();
  const service = await platform.registerService(['view_schools']);

  const ofUser = await auth.issueToken({
    clientId: app.client.id,
    userId: '1',
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

  const ofClient = await auth.issueToken({ clientId: service.client.id });
  t.is(decodeJwt(ofClient).exp! - decodeJwt(ofClient).iat!, 31_536_000);
  t.is((await platform.api('/schools', ofClient)).status, 200);

  await auth.audit.flush();
  const records = (await auth.audit.list({
    types: ['token_issued'],
  })) as readonly AuditRecord<'token_issued'>[];
  t.deepEqual(
    records.map(({ clientId, grantId, grantType, userId }) => ({ clientId, userId, grantId, grantType })),
    [
      { clientId: service.client.id, userId: undefined, grantId: undefined, grantType: 'host' },
      { clientId: app.client.id, userId: '1', grantId: String(claims['grant_id']), grantType: 'host' },
    ],
  );
  t.false(JSON.stringify(records).includes(ofUser.split('.')[2]!));

  await auth.revoke({ grantId: String(claims['grant_id']) });
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
      [{ clientId: app, userId: '1' }, { userId: '1' }],
      [{ clientId: service }, { clientId: service }],
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
  t.is(await scopesOf({ clientId: listed.client.id, userId: '1' }), 'schools:read');
  t.is(await scopesOf({ clientId: listed.client.id, userId: '1', scopes: [] }), 'schools:read');
  t.is(await scopesOf({ clientId: free.client.id, userId: '1' }), undefined);
  t.is(
    await scopesOf({ clientId: free.client.id, userId: '1', scopes: ['schools:read', 'schools:read'] }),
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
    [{}, 'clientId', /^pass a client_id/],
    [{ clientId: { id: app } }, 'clientId', /^pass a client_id/],
    [{ clientId: app, users: '1' }, 'users', /^there is no such option; did you mean userId\?/],
    [{ clientId: app, userId: { id: '1' } }, 'userId', /^pass a user's id/],
    [{ clientId: app, userId: '99' }, 'userId', /^users\.find\(\) finds no user/],
    [{ clientId: app }, 'userId', /acts for users only .*; pass the id of a user$/],
    [{ clientId: service, userId: '1' }, 'userId', /acts for itself only/],
    [{ clientId: disabled, userId: '1' }, 'clientId', /is disabled; enable it first$/],
    [
      { clientId: app, userId: '1', scopes: 'schools:read' },
      'scopes',
      /^list the names of the scopes, such as/,
    ],
    [{ clientId: app, userId: '1', scopes: ['x'] }, 'scopes', /^the server has no scope "x"$/],
    [{ clientId: none, userId: '1', scopes: ['schools:read'] }, 'scopes', /may not ask for the scope/],
    [{ clientId: none, userId: '1' }, 'scopes', /is registered for no scope/],
    [{ clientId: service, lifetime: 'soon' }, 'lifetime', /^give seconds, or a number and a unit/],
    [{ clientId: service, lifetime: 0 }, 'lifetime', /at least 1 s$/],
    [
      { clientId: service, lifetime: '61 min' },
      'lifetime',
      /^at most lifetimes.accessToken, which is 3600 s/,
    ],
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
  await t.throwsAsync(auth.issueToken({ clientId: 'unknown' }), { instanceOf: ClientNotFoundError });
  await auth.audit.flush();
  t.deepEqual(await auth.audit.list({ types: ['token_issued'] }), []);
});

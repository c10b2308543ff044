// What is refused of ID-JAGs, and what apps, logs and hosts learn of it.
import type { ExecutionContext } from 'ava';
import { SignJWT } from 'jose';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import {
  IDP,
  idJag,
  issuerKeys,
  JWT_BEARER,
  lastReason,
  present,
  REFUSED,
  startTrusted,
} from './identity-provider.ts';
import type { TrustedPlatform } from './identity-provider.ts';

const AUDIENCE = 'its aud is not this server alone';
const CLIENT = 'it is for another client (client_id)';
const ISSUER = 'its issuer is not trusted';
const TYPE = 'its typ is not that of the profile of its issuer';
const NO_JWT = 'it is not a signed JWT';
const ALGORITHM = 'it is not signed with an algorithm of this server';
const SIGNATURE = 'the signature is not that of the key of the issuer';
const TIMES = 'it has no exp, or no iat';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** By name, the claims of an ID-JAG that is right but for these, and why it is refused. */
function wrongClaims(
  issuer: string,
  app: RegisteredApp,
): Readonly<Record<string, readonly [claims: Record<string, unknown>, reason: string]>> {
  const at = Math.floor(Date.now() / 1000);
  const text = 'a'.repeat(1001);
  return {
    'aud: another server': [{ aud: 'https://other.example' }, AUDIENCE],
    'aud: with a final slash': [{ aud: `${issuer}/` }, AUDIENCE],
    'aud: it begins with the issuer': [{ aud: `${issuer}.other.example` }, AUDIENCE],
    'aud: a path below the issuer': [{ aud: `${issuer}/tenant` }, AUDIENCE],
    'aud: the token endpoint': [{ aud: `${issuer}/oauth/token` }, AUDIENCE],
    'aud: in capitals': [{ aud: issuer.toUpperCase() }, AUDIENCE],
    'aud: this server and another': [{ aud: [issuer, 'https://other.example'] }, AUDIENCE],
    'aud: this server twice': [{ aud: [issuer, issuer] }, AUDIENCE],
    'aud: an empty list': [{ aud: [] }, AUDIENCE],
    'aud: a list in a list': [{ aud: [[issuer]] }, AUDIENCE],
    'aud: an object': [{ aud: { [issuer]: true } }, AUDIENCE],
    'aud: none': [{ aud: undefined }, AUDIENCE],
    'client_id: of another app': [{ client_id: 'other' }, CLIENT],
    'client_id: a list': [{ client_id: [app.client.id] }, CLIENT],
    'client_id: empty': [{ client_id: '' }, CLIENT],
    'client_id: none': [{ client_id: undefined }, CLIENT],
    'client_id: as azp only': [{ client_id: undefined, azp: app.client.id }, CLIENT],
    'iss: unknown': [{ iss: 'https://unknown.example' }, ISSUER],
    'iss: with a final slash': [{ iss: `${IDP}/` }, ISSUER],
    'iss: with a port': [{ iss: `${IDP}:443` }, ISSUER],
    'iss: in capitals': [{ iss: IDP.toUpperCase() }, ISSUER],
    'iss: it begins with one that is trusted': [{ iss: `${IDP}.other.example` }, ISSUER],
    'iss: a path below one that is trusted': [{ iss: `${IDP}/acme` }, ISSUER],
    'iss: a list': [{ iss: [IDP] }, ISSUER],
    'iss: a name of a prototype': [{ iss: '__proto__' }, ISSUER],
    'iss: this server': [{ iss: issuer }, ISSUER],
    'iss: none': [{ iss: undefined }, ISSUER],
    'exp: it has passed': [{ exp: at - 61, iat: at - 300 }, 'it has expired (exp)'],
    'exp: more than an hour ahead': [{ exp: at + 3700 }, 'it is valid for longer than an hour (exp)'],
    'exp: more than an hour after iat': [
      { exp: at + 300, iat: at - 3500 },
      'it is valid for longer than an hour (exp)',
    ],
    'exp: a text': [{ exp: String(at + 300) }, TIMES],
    'exp: none': [{ exp: undefined }, TIMES],
    'iat: in the future': [{ iat: at + 120 }, 'it was issued in the future (iat)'],
    'iat: a text': [{ iat: String(at) }, TIMES],
    'iat: none': [{ iat: undefined }, TIMES],
    'nbf: in the future': [{ nbf: at + 120 }, 'it is not valid yet (nbf)'],
    'nbf: a text': [{ nbf: String(at) }, 'it is not valid yet (nbf)'],
    'jti: none': [{ jti: undefined }, 'it has no jti'],
    'jti: empty': [{ jti: '' }, 'it has no jti'],
    'jti: a number': [{ jti: 1 }, 'it has no jti'],
    'jti: too long': [{ jti: text }, 'it has no jti'],
    'sub: none': [{ sub: undefined }, 'it has no sub'],
    'sub: empty': [{ sub: '' }, 'it has no sub'],
    'sub: a number': [{ sub: 1 }, 'it has no sub'],
    'sub: too long': [{ sub: text }, 'it has no sub'],
    'sub: nobody here': [{ sub: 'nobody' }, 'findUser() finds no user'],
    'tenant: the issuer has none here': [
      { tenant: 'north' },
      'the issuer does not speak for its tenant here',
    ],
    'tenant: a list': [{ tenant: ['north'] }, 'the issuer does not speak for its tenant here'],
    'aud_tenant: this server has none': [
      { aud_tenant: 'north' },
      'it is for a tenant of this server (aud_tenant), which has none',
    ],
    'cnf: it is bound to a key': [
      { cnf: { jkt: 'x' } },
      'it is bound to a key of the client (cnf), which this server cannot check',
    ],
    authorization_details: [{ authorization_details: [{ type: 'x' }] }, 'it has authorization_details'],
    'resource: several': [{ resource: [issuer, 'https://other.example'] }, 'it is for several resources'],
    'resource: an object': [{ resource: { uri: issuer } }, 'it is for several resources'],
    'scope: a list': [{ scope: ['schools:read'] }, 'its scope is not a text'],
  };
}

/** By name, wrong assertions, and why each is refused. */
async function wrongJwts(
  platform: TrustedPlatform,
  app: RegisteredApp,
): Promise<Readonly<Record<string, readonly [assertion: string, reason: string]>>> {
  const right = await idJag(platform, app);
  const [head, payload, signature] = right.split('.') as [string, string, string];
  const typ = 'oauth-id-jag+jwt';
  const { publicJwk } = await issuerKeys();
  const { kid } = publicJwk;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const withHeader = async (header: Record<string, unknown>): Promise<string> =>
    idJag(platform, app, {}, { header });
  const by = async (...given: Parameters<typeof makeKeyPair>): Promise<string> =>
    idJag(platform, app, {}, { pair: await makeKeyPair(...given) });
  const hmac = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ, kid: kid! })
    .sign(new TextEncoder().encode(JSON.stringify(publicJwk)));
  return {
    'another key with the same id': [await by(kid), SIGNATURE],
    'a key of another kind with the same id': [await by(kid, 'RS256'), SIGNATURE],
    'a key that the issuer does not have': [
      await by('key-2'),
      'the issuer has no key with the kid of the assertion',
    ],
    'a key in its own header': [
      await idJag(
        platform,
        app,
        {},
        { pair: await makeKeyPair(kid), header: { jwk: (await makeKeyPair(kid)).publicJwk } },
      ),
      SIGNATURE,
    ],
    'alg: none': [`${encode({ alg: 'none', typ })}.${payload}.`, ALGORITHM],
    'alg: none, with a signature': [`${encode({ alg: 'none', typ })}.${payload}.${signature}`, ALGORITHM],
    'alg: HS256 with the public key': [hmac, ALGORITHM],
    'alg: another of the same key': [
      `${encode({ alg: 'ES384', typ, kid })}.${payload}.${signature}`,
      SIGNATURE,
    ],
    'crit: an extension': [
      `${encode({ alg: 'ES256', typ, kid, crit: ['b64'], b64: true })}.${payload}.${signature}`,
      ALGORITHM,
    ],
    'other claims': [`${head}.${encode({ ...claims, sub: 'bob' })}.${signature}`, SIGNATURE],
    // 81 characters, which are no base64url of any bytes.
    'a signature that is cut': [`${head}.${payload}.${signature.slice(0, -5)}`, NO_JWT],
    'a signature of zeros': [`${head}.${payload}.${'A'.repeat(86)}`, SIGNATURE],
    'typ: JWT': [await withHeader({ typ: 'JWT' }), TYPE],
    'typ: none': [await withHeader({ typ: undefined }), TYPE],
    'typ: of access tokens': [await withHeader({ typ: 'at+jwt' }), TYPE],
    'typ: of ID tokens of a logout': [await withHeader({ typ: 'logout+jwt' }), TYPE],
    'typ: it begins with that of ID-JAGs': [await withHeader({ typ: `${typ}+x` }), TYPE],
    'a text': ['abc', NO_JWT],
    'two parts': [`${head}.${payload}`, NO_JWT],
    'five parts': ['a.b.c.d.e', NO_JWT],
    'claims that are no object': [`${head}.${encode([claims])}.${signature}`, NO_JWT],
    'claims that are no JSON': [`${head}.YWJj.${signature}`, NO_JWT],
    'a header that is no JSON': [`YWJj.${payload}.${signature}`, NO_JWT],
    'very long': [`${right}${'A'.repeat(20_000)}`, NO_JWT],
  };
}

async function refusesAll(t: ExecutionContext, address: string): Promise<void> {
  await using platform = await startTrusted(
    {},
    { storage: knexStorage(address), limits: { attempts: false } },
  );
  const app = await platform.registerApp();
  const { issuer } = platform.auth;

  let count = 0;
  const refuses = async (name: string, assertion: string, reason: string): Promise<void> => {
    count += 1;
    const { body, headers, status } = await present(platform, app, assertion);
    t.deepEqual({ status, body }, { status: 400, body: REFUSED }, name);
    t.is(headers.get('cache-control'), 'no-store', name);
    t.is(await lastReason(platform), reason, name);
  };
  for (const [name, [claims, reason]] of Object.entries(wrongClaims(issuer, app)))
    await refuses(name, await idJag(platform, app, claims), reason);
  for (const [name, [assertion, reason]] of Object.entries(await wrongJwts(platform, app)))
    await refuses(name, assertion, reason);
  t.true(count >= 70, `${count}`);

  const assertion = await idJag(platform, app);
  t.is((await present(platform, app, assertion)).status, 200);
  // Nothing of all that has left a grant, or a word of it to the user.
  const { clients } = await platform.auth.userGrants.list('1');
  t.is(clients.length, 1);
  t.deepEqual((await platform.auth.userGrants.list('2')).clients, []);
  const [accepted, ...more] = await platform.auth.audit.list({ types: ['assertion_accepted'] });
  t.like(accepted, { clientId: app.client.id, userId: '1', issuer: IDP, subject: 'ann' });
  t.is(more.length, 0);
}

onEachDatabase(
  'ID-JAGs that are refused, each with its reason in the audit log',
  async (t, _database, address) => refusesAll(t, address),
);

/** Requests that are refused for something else than the assertion, which says what. */
onEachDatabase(
  'requests with a right ID-JAG that are refused, and spend nothing',
  async (t, _database, address) => {
    await using platform = await startTrusted(
      {},
      { storage: knexStorage(address), limits: { attempts: false } },
    );
    const app = await platform.registerApp();
    const service = await platform.registerService();
    const publicApp = await platform.registerApp({ confidential: false });
    const disabled = await platform.registerApp();
    await platform.auth.clients.disable(disabled.client.id);
    const assertion = await idJag(platform, app);
    const other = 'https://other.example';
    const grant = { grant_type: JWT_BEARER, assertion };
    const own = { ...grant, ...asClient(app) };
    const of = async (by: RegisteredApp): Promise<Record<string, string>> => ({
      grant_type: JWT_BEARER,
      assertion: await idJag(platform, by),
      ...asClient(by),
    });
    const claiming = async (claims: Record<string, unknown>): Promise<Record<string, string>> => ({
      ...own,
      assertion: await idJag(platform, app, claims),
    });
    const twice = `${String(new URLSearchParams(own))}&${String(new URLSearchParams({ assertion }))}`;
    const vectors: Readonly<
      Record<string, readonly [form: Record<string, string> | string, status: number, error: string, RegExp]>
    > = {
      'a public app': [
        await of(publicApp),
        400,
        'unauthorized_client',
        /^only confidential clients of users may use this assertion$/,
      ],
      'an app that acts for itself': [
        await of(service),
        400,
        'unauthorized_client',
        /^only confidential clients of users may use this assertion$/,
      ],
      'a disabled app': [await of(disabled), 401, 'invalid_client', /./],
      'a wrong secret': [{ ...own, client_secret: 'wrong' }, 401, 'invalid_client', /./],
      'no secret': [{ ...grant, client_id: app.client.id }, 401, 'invalid_client', /./],
      'an app that does not exist': [
        { ...grant, client_id: 'nobody', client_secret: 'x' },
        401,
        'invalid_client',
        /./,
      ],
      'no secret, but an assertion of the type of workloads': [
        {
          grant_type: JWT_BEARER,
          client_id: app.client.id,
          assertion: await idJag(platform, app, {}, { header: { typ: 'JWT' } }),
        },
        401,
        'invalid_client',
        /./,
      ],
      'no client': [grant, 400, 'invalid_request', /client/],
      'no assertion': [{ ...own, assertion: '' }, 400, 'invalid_request', /assertion/],
      'two assertions': [twice, 400, 'invalid_request', /assertion/],
      authorization_details: [
        { ...own, authorization_details: '[]' },
        400,
        'invalid_request',
        /authorization_details/,
      ],
      'an API that is not here': [{ ...own, resource: other }, 400, 'invalid_target', /./],
      'an API of the assertion that is not here': [
        await claiming({ resource: other }),
        400,
        'invalid_target',
        /./,
      ],
      'another API than that of the assertion': [
        { ...(await claiming({ resource: other })), resource: platform.auth.issuer },
        400,
        'invalid_target',
        /another resource/,
      ],
      'a scope beyond the assertion': [{ ...own, scope: 'schools:write' }, 400, 'invalid_scope', /scope/],
      'a scope that no API has': [{ ...own, scope: 'unknown' }, 400, 'invalid_scope', /scope/],
      'an assertion without a scope of this issuer': [
        await claiming({ scope: 'schools:write' }),
        400,
        'invalid_scope',
        /none of the scopes/,
      ],
      'an assertion with an empty scope': [
        await claiming({ scope: '' }),
        400,
        'invalid_scope',
        /none of the scopes/,
      ],
    };
    for (const [name, [form, status, error, description]] of Object.entries(vectors)) {
      const answer = await postForm(platform.url('/oauth/token'), form);
      t.is(answer.status, status, name);
      t.is(answer.body?.['error'], error, name);
      t.regex(String(answer.body?.['error_description']), description, name);
      t.truthy(await lastReason(platform), name);
    }
    t.is((await present(platform, app, assertion)).status, 200);
  },
);

// What is refused of the assertions of workloads, and what jobs, logs and hosts learn of it.
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { basic, postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { CI, JOB, jobToken, JWT_BEARER, lastReason, REFUSED, startTrusted } from './identity-provider.ts';
import type { Signing } from './identity-provider.ts';

const RULE = 'no rule lets it speak for the client';

onEachDatabase(
  'assertions of workloads that are refused, each with its reason in the audit log',
  async (t, _database, address) => {
    // The rules name clients, which exist before them.
    const before = await startTrusted({}, { storage: knexStorage(address) });
    const service = await before.registerService(['view_schools']);
    const tools = await before.registerService();
    const app = await before.registerApp();
    await before[Symbol.asyncDispose]();
    const rules = [
      { client: service.client.id, match: { sub: JOB, repository_id: '42' } },
      { client: tools.client.id, match: { sub: 'repo:acme/tools:*', repository_id: '43' } },
      { client: tools.client.id, match: { sub: 'pod', aud: 'gatehouse' } },
      { client: app.client.id, match: { sub: 'user' } },
    ];
    await using platform = await startTrusted(
      { ci: { rules } },
      { storage: knexStorage(address), limits: { attempts: false } },
    );
    const { issuer } = platform.auth;
    const at = Math.floor(Date.now() / 1000);

    const job = async (
      claims: Readonly<Record<string, unknown>> = {},
      signing: Signing = {},
    ): Promise<string> => jobToken(platform, claims, signing);
    const ask = async (assertion: string, client: string | undefined, headers = {}): Promise<Answer> =>
      postForm(
        platform.url('/oauth/token'),
        { grant_type: JWT_BEARER, assertion, ...(client !== undefined && { client_id: client }) },
        headers,
      );

    const ofTools = { repository_id: '43' };
    const wrong: Readonly<
      Record<string, readonly [claims: Record<string, unknown>, reason: string, client?: string]>
    > = {
      'sub: another branch': [{ sub: 'repo:acme/app:ref:refs/heads/dev' }, RULE],
      'sub: it begins with that of the rule': [{ sub: `${JOB}-x` }, RULE],
      'sub: that of the rule in capitals': [{ sub: JOB.toUpperCase() }, RULE],
      'sub: the rule itself': [{ ...ofTools, sub: 'repo:acme/tools:*x' }, RULE, service.client.id],
      'sub: another repository that begins alike': [
        { ...ofTools, sub: 'repo:acme/tools-x:ref:refs/heads/main' },
        RULE,
        tools.client.id,
      ],
      'sub: nothing where anything may be': [{ ...ofTools, sub: 'repo:acme/tools:' }, RULE, tools.client.id],
      'sub: none': [{ sub: undefined }, 'it has no sub'],
      'repository_id: another repository of the same name': [{ repository_id: '44' }, RULE],
      'repository_id: a number': [{ repository_id: 42 }, RULE],
      'repository_id: a list': [{ repository_id: ['42'] }, RULE],
      'repository_id: none': [{ repository_id: undefined }, RULE],
      'aud: another server': [{ aud: 'https://other.example' }, RULE],
      'aud: a path below the issuer': [{ aud: `${issuer}/x` }, RULE],
      'aud: with a final slash': [{ aud: `${issuer}/` }, RULE],
      'aud: this server and another': [{ aud: [issuer, 'https://other.example'] }, RULE],
      'aud: that of another rule': [{ aud: 'gatehouse' }, RULE],
      'aud: the issuer, for a rule with another': [{ sub: 'pod' }, RULE, tools.client.id],
      'aud: none': [{ aud: undefined }, RULE],
      'event_name: a pull request': [{ event_name: 'pull_request' }, RULE],
      'event_name: a pull request with the rights of the target': [
        { event_name: 'pull_request_target' },
        RULE,
      ],
      'sub: a pull request, by a rule for anything': [
        { ...ofTools, sub: 'repo:acme/tools:pull_request', event_name: undefined },
        RULE,
        tools.client.id,
      ],
      'another client than that of the rule': [{}, RULE, tools.client.id],
      'exp: it has passed': [{ exp: at - 61, iat: at - 300 }, 'it has expired (exp)'],
      'exp: a day ahead': [{ exp: at + 86_400 }, 'it is valid for longer than an hour (exp)'],
      'exp: none': [{ exp: undefined }, 'it has no exp, or no iat'],
      'iat: in the future': [{ iat: at + 120 }, 'it was issued in the future (iat)'],
      'iat: none': [{ iat: undefined }, 'it has no exp, or no iat'],
      'nbf: in the future': [{ nbf: at + 120 }, 'it is not valid yet (nbf)'],
      'jti: none': [{ jti: undefined }, 'it has no jti'],
      cnf: [
        { cnf: { jkt: 'x' } },
        'it is bound to a key of the client (cnf), which this server cannot check',
      ],
      authorization_details: [{ authorization_details: [{ type: 'x' }] }, 'it has authorization_details'],
    };
    let count = 0;
    const refuses = async (name: string, answer: Answer, reason: string): Promise<void> => {
      count += 1;
      t.deepEqual(
        { status: answer.status, body: answer.body as object },
        { status: 400, body: REFUSED },
        name,
      );
      t.is(await lastReason(platform), reason, name);
    };
    for (const [name, [claims, reason, client = service.client.id]] of Object.entries(wrong))
      await refuses(name, await ask(await job(claims), client), reason);
    for (const [name, pair, reason] of [
      [
        'another key with the same id',
        await makeKeyPair('issuer-1'),
        'the signature is not that of the key of the issuer',
      ],
      [
        'a key that the issuer does not have',
        await makeKeyPair('issuer-2'),
        'the issuer has no key with the kid of the assertion',
      ],
    ] as const)
      await refuses(name, await ask(await job({}, { pair }), service.client.id), reason);
    // With its secret the client is known, whatever the assertion is.
    const secret = basic(service.client.id, service.secret);
    const withSecret = async (name: string, assertion: string, reason: string): Promise<void> =>
      refuses(name, await ask(assertion, undefined, secret), reason);
    const type = 'its typ is not that of the profile of its issuer';
    for (const typ of ['oauth-id-jag+jwt', 'at+jwt', 'logout+jwt', 'secevent+jwt'])
      await withSecret(`typ: ${typ}`, await job({}, { header: { typ } }), type);
    const unknown = 'its issuer is not trusted';
    for (const iss of [`${CI}/`, `${CI}/acme`, 'https://other.example', undefined])
      await withSecret(`iss: ${iss}`, await job({ iss }), unknown);
    await withSecret('a text', 'abc', 'it is not a signed JWT');
    t.true(count >= 40, `${count}`);

    const nobody = await ask(await job(), 'nobody');
    t.like(nobody, { status: 401, body: { error: 'invalid_client' } });
    const ofUser = await ask(await job({ sub: 'user' }), app.client.id);
    t.like(ofUser, { status: 400, body: { error: 'unauthorized_client' } });
    t.regex(String(ofUser.body!['error_description']), /clients that act for themselves/);
    // Without a rule nothing says which client is meant, and without an issuer nothing authenticates it.
    t.like(await ask(await job({ sub: 'x' }), undefined), {
      status: 400,
      body: { error: 'invalid_request' },
    });
    for (const typ of ['oauth-id-jag+jwt', 'at+jwt'])
      t.like(await ask(await job({}, { header: { typ } }), service.client.id), {
        status: 401,
        body: { error: 'invalid_client' },
      });
    t.like(await ask(await job({ iss: 'https://other.example' }), service.client.id), {
      status: 401,
      body: { error: 'invalid_client' },
    });
    const wrongSecret = await ask(await job(), undefined, basic(service.client.id, 'wrong'));
    t.like(wrongSecret, { status: 401, body: { error: 'invalid_client' } });

    // What is right is accepted, by each of the rules.
    for (const [claims, client] of [
      [{}, service.client.id],
      [{}, undefined],
      [{ ...ofTools, sub: 'repo:acme/tools:ref:refs/tags/v1' }, undefined],
      [{ sub: 'pod', aud: 'gatehouse', repository_id: undefined }, undefined],
    ] as const)
      t.is((await ask(await job(claims), client)).status, 200);
    const accepted = await platform.auth.audit.list({ types: ['assertion_accepted'] });
    t.is(accepted.length, 4);
    t.like(accepted.at(-1), { clientId: service.client.id, issuer: CI, subject: JOB });
  },
);

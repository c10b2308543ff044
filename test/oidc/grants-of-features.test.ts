import test from '../harness/test.ts';
import type { Feature } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { decodeJwt } from 'jose';

import { clientCredentialsGrant } from '../../lib/token/client-credentials-grant.ts';
import { BOTH_SCOPES, disconnect, runCodeFlow, signedIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { basic, postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient, clientToken } from '../harness/tokens.ts';

const GRANT = 'urn:example:ticket';

/** A feature with a grant of tickets: the id of a client, signed with the word "valid". */
function tickets(stationName: string): Feature {
  return {
    name: 'tickets',
    grantTypesOfKinds: { client_credentials: [GRANT] },
    open: async () => ({ accepts: ({ asserted_by: by }) => by === stationName }),
    install: () => ({
      grantTypes: ({ signAccessToken, ...parts }) => [
        {
          ...clientCredentialsGrant({
            ...parts,
            signAccessToken: async (content) => signAccessToken({ ...content, assertedBy: stationName }),
          }),
          name: GRANT,
          parameters: ['ticket', 'scope', 'resource'],
          clientOf: (parameters) => /^(.+) valid$/.exec(parameters.get('ticket') ?? '')?.[1],
        },
      ],
    }),
  };
}

async function ask(
  platform: Platform,
  parameters: Record<string, string>,
  headers?: Record<string, string>,
): Promise<Answer> {
  return postForm(platform.url('/oauth/token'), { grant_type: GRANT, ...parameters }, headers);
}

async function start(): Promise<{ platform: Platform; service: RegisteredApp; ticket: string }> {
  const platform = await startPlatform({ features: [tickets('station')] });
  const service = await platform.registerService(['view_schools']);
  return { platform, service, ticket: `${service.client.id} valid` };
}

test("a grant's credential authenticates its client, for this grant only", async (t) => {
  const { platform, service, ticket } = await start();
  await using _stops = platform;
  const { id } = service.client;
  for (const named of [{}, { client_id: id }, { client_id: id, client_secret: '' }]) {
    const { body, status } = await ask(platform, { ticket, ...named });
    t.is(status, 200);
    t.is((await platform.api('/schools', String(body!['access_token']))).status, 200);
  }
  const noSecret = { authorization: `Basic ${Buffer.from(`${id}:`).toString('base64')}` };
  t.is((await ask(platform, { ticket }, noSecret)).status, 200);
  t.is((await ask(platform, { ticket }, basic(id, service.secret))).status, 200);

  const refused = [
    await ask(platform, { ticket: id, client_id: id }),
    await ask(platform, { ticket, client_id: (await platform.registerService()).client.id }),
    await ask(platform, { ticket, client_id: id, client_secret: 'wrong' }),
    await ask(platform, { ticket }, basic(id, 'wrong')),
    await ask(platform, { ticket, client_id: id, grant_type: 'client_credentials' }),
    await postForm(platform.url('/oauth/introspect'), {
      grant_type: GRANT,
      ticket,
      client_id: id,
      token: 'x',
    }),
    await postForm(platform.url('/oauth/revoke'), { grant_type: GRANT, ticket, client_id: id, token: 'x' }),
  ];
  for (const { body, status } of refused) t.is(`${status} ${String(body!['error'])}`, '401 invalid_client');
});

test('a client may use a grant type that a feature gives its kind, and others may not', async (t) => {
  const { platform, service } = await start();
  await using _stops = platform;
  const app = await platform.registerApp();
  const { body } = await ask(platform, { ticket: `${app.client.id} valid` });
  t.like(body, { error: 'unauthorized_client' });
  t.is((await platform.token({ grant_type: 'client_credentials', ...asClient(service) })).status, 200);
});

test('a token that was issued for an assertion is refused where no feature accepts it', async (t) => {
  const storage = memoryStorage();
  await using platform = await startPlatform({ storage, features: [tickets('station')] });
  const { issuer } = platform.auth;
  await using renamed = await startPlatform({ storage, issuer, features: [tickets('harbour')] });
  await using without = await startPlatform({ storage, issuer });
  const service = await platform.registerService(['view_schools']);
  const { body } = await ask(platform, { ticket: `${service.client.id} valid` });
  const token = String(body!['access_token']);
  t.is(decodeJwt(token)['asserted_by'], 'station');
  const own = await clientToken(platform, service);
  const introspect = async (at: Platform): Promise<unknown> =>
    (await postForm(at.url('/oauth/introspect'), { ...asClient(service), token })).body!['active'];
  t.is((await platform.api('/schools', token)).status, 200);
  t.true(await introspect(platform));
  for (const other of [renamed, without]) {
    t.is((await other.api('/schools', token)).status, 401);
    t.false(await introspect(other));
    t.is((await other.api('/schools', own)).status, 200);
  }
});

test('the claim of a token that was issued for an assertion is reserved', async (t) => {
  await using platform = await startPlatform({ tokens: { claims: () => ({ asserted_by: 'station' }) } });
  const service = await platform.registerService();
  const { body, status } = await platform.token({ grant_type: 'client_credentials', ...asClient(service) });
  t.is(`${status} ${body.error}`, '500 server_error');
  const { fields } = platform.logger.lines.find(({ message }) => message === 'request failed')!;
  const { err } = fields as { err: Error };
  t.regex(err.message, /leave out asserted_by: these claim names are reserved/);
});

test('apps that others allow are listed with those of the user, each once, and are disconnected as one', async (t) => {
  const allowed: { by: string; clientId: string }[] = [];
  const organization: Feature = {
    name: 'organization',
    install: () => ({
      allowed: async (userId) =>
        allowed.map((one) => ({
          ...one,
          scopes: ['schools:write'],
          createdAt: 1,
          lastUsedAt: userId === '1' ? 7200 : undefined,
        })),
    }),
  };
  await using platform = await startPlatform({ scopes: BOTH_SCOPES, features: [organization] });
  const own = await platform.registerApp({ name: 'Own' });
  const other = await platform.registerApp({ name: 'Other' });
  const browser = await signedIn(platform);
  const tokens = await runCodeFlow(platform, own, { browser, parameters: { scope: 'schools:read' } });
  allowed.push(
    { by: 'idp.example', clientId: own.client.id },
    { by: 'hr.example', clientId: own.client.id },
    { by: 'idp.example', clientId: other.client.id },
    { by: 'idp.example', clientId: 'deleted' },
  );
  const { clients } = await platform.auth.userGrants.list('1');
  t.deepEqual(
    clients.map(({ allowedBy, client, lastUsedAt, scopes }) => [
      client.name,
      allowedBy,
      scopes?.map(({ name }) => name),
      lastUsedAt,
    ]),
    [
      ['Own', ['idp.example', 'hr.example'], ['schools:read', 'schools:write'], 7200],
      ['Other', ['idp.example'], ['schools:write'], 7200],
    ],
  );
  const page = await browser.open(platform.url('/account/apps'));
  t.regex(
    page.text,
    /Own.*Allowed by your organization: idp\.example, hr\.example.*Change your schools.*Other/,
  );
  await disconnect(browser, page);
  t.is((await platform.api('/schools', tokens.body.access_token)).status, 401);
});

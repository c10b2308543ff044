import { IncomingMessage } from 'node:http';

import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import type { Provider } from 'oidc-provider';

import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import { postForm, postJson } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { FORM } from './token-platform.ts';

test('onProvider is called for each provider, also when the signing keys change', async (t) => {
  const made: Provider[] = [];
  let granted = 0;
  await using platform = await startPlatform({
    onProvider(provider) {
      made.push(provider);
      provider.on('grant.success', () => {
        granted += 1;
      });
    },
  });
  const app = await platform.registerApp({ firstParty: true });
  t.is((await runCodeFlow(platform, app)).status, 200);
  t.deepEqual([made.length, granted], [1, 1]);
  t.is(platform.auth.provider, made[0]!);

  await platform.auth.signingKeys.rotate();
  t.is(made.length, 2);
  t.is(platform.auth.provider, made[1]!);
  t.is((await runCodeFlow(platform, app)).status, 200);
  t.is(granted, 2);
});

test('the provider finds a grant for the host, until it is revoked', async (t) => {
  await using platform = await startPlatform();
  const { auth } = platform;
  const app = await platform.registerApp();
  const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  const id = decodeJwt(body.access_token)['grant_id'] as string;
  t.like(await auth.provider.Grant.find(id), { accountId: '1', clientId: app.client.id });
  await auth.revoke({ grantId: id });
  t.is(await auth.provider.Grant.find(id), undefined);
});

test('middleware that the host adds to the provider gets the body as a form, of either encoding', async (t) => {
  const read: unknown[] = [];
  await using platform = await startPlatform({
    onProvider({ middleware }) {
      middleware.unshift(async (ctx, next) => {
        read.push((ctx.req as { body?: unknown }).body, ctx.is('urlencoded', 'json'), ctx.req.readable);
        await next();
      });
    },
  });
  const parameters = { grant_type: 'client_credentials', ...asClient(await platform.registerService()) };
  const endpoint = `${platform.origin}/oauth/token`;
  t.is((await postForm(endpoint, parameters)).status, 200);
  t.is((await postJson(endpoint, parameters)).status, 200);
  const form = new URLSearchParams(parameters).toString();
  t.deepEqual(read, [form, FORM, false, form, FORM, false]);
});

test('listeners of the host find the request of a token, with its header and its connection', async (t) => {
  const seen: unknown[] = [];
  await using platform = await startPlatform({
    onProvider(provider) {
      provider.on('grant.error', ({ req }) => {
        const { headers, method, rawHeaders, socket, url } = req;
        seen.push(
          req instanceof IncomingMessage,
          method,
          url,
          headers['x-trace'],
          rawHeaders.includes('abc'),
        );
        seen.push(socket.remoteAddress, req.destroyed, req.listenerCount('close'));
      });
    },
  });
  const answer = await postJson(`${platform.origin}/oauth/token`, {}, { 'x-trace': 'abc' });
  t.is(answer.status, 400);
  t.deepEqual(seen, [true, 'POST', '/oauth/token', 'abc', true, '127.0.0.1', false, 0]);
});

test('an onProvider that is not a function is refused', async (t) => {
  const onProvider = 'grant.success' as unknown as (provider: Provider) => void;
  await t.throwsAsync(startPlatform({ onProvider }), { code: 'ERR_CONFIG', message: /onProvider/ });
});

test('a grant type that the host adds to the provider issues tokens that the guard accepts and can refuse', async (t) => {
  const EXCHANGE = 'urn:example:exchange';
  await using platform = await startPlatform({
    onProvider(provider) {
      const { Client, ClientCredentials, ResourceServer } = provider;
      Client.prototype.grantTypeAllowed = function grantTypeAllowed(type) {
        return type === EXCHANGE || this.grantTypes?.includes(type) === true;
      };
      provider.registerGrantType(EXCHANGE, async (ctx) => {
        const resourceServer = new ResourceServer(provider.issuer, {
          audience: provider.issuer,
          scope: '',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        });
        const token = new ClientCredentials({ client: ctx.oidc.client, resourceServer, scope: '' });
        ctx.oidc.entity('ClientCredentials', token);
        ctx.body = { access_token: await token.save(), token_type: 'Bearer' };
      });
    },
  });
  const service = await platform.registerService(['view_schools']);
  const ask = async () => platform.token({ grant_type: EXCHANGE, ...asClient(service) });
  const { body, status } = await ask();
  t.is(status, 200);
  t.is((await platform.api('/schools', body.access_token)).status, 200);
  const [record] = await platform.auth.audit.list({ clientId: service.client.id, types: ['token_issued'] });
  t.like(record, { type: 'token_issued', clientId: service.client.id });
  await platform.auth.revoke({ clientId: service.client.id });
  t.is((await platform.api('/schools', body.access_token)).body['code'], 'token_revoked');
  t.is((await platform.api('/schools', (await ask()).body.access_token)).status, 200);
});

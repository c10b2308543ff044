import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { gatehouse, gatehouseJson } from '../cli/gatehouse.ts';
import { passTime } from '../harness/clock.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { asClient } from '../harness/tokens.ts';
import { REPORTS, openArea } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';

onEachDatabaseInSeries(
  'all tokens of an app are revoked on its page, and stay revoked when the app is disabled and enabled',
  async (t, _, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    const { api, auth, browser, signInAs, open, registerFor, token, url, ...rest } = await openArea(
      t,
      'dora',
      {
        storage,
        tokens: { revocationLag: 1 },
      },
    );
    const platform = { api, auth, browser, signInAs, open, registerFor, token, url, ...rest };
    const service = await registerFor('dora', { permissions: ['view_schools'] });
    const reports = await registerFor('dora', REPORTS);
    const ask = { grant_type: 'client_credentials', ...asClient(service) };
    const own = (await token(ask)).body.access_token;
    const anns = (await runCodeFlow(platform, reports, { browser: await signInAs('ann') })).body;
    for (const bearer of [own, anns.access_token]) t.is((await api('/identity', bearer)).status, 200);

    for (const { client } of [service, reports]) {
      const settings = await open(`/${client.id}`);
      t.true(settings.html.includes(`href="/developer/apps/${client.id}/revoke"`));
      const question = await open(`/${client.id}/revoke`);
      t.is(question.heading, `Revoke all tokens of ${client.name} ?`);
      t.is((await api('/identity', client === service.client ? own : anns.access_token)).status, 200);
      const answer = await browser.submit(question, 'Revoke all tokens');
      t.is(answer.status, 303);
      t.true((await browser.follow(answer)).text.startsWith('All tokens of the app are revoked.'));
    }
    const assertRevoked = async (): Promise<void> => {
      for (const bearer of [own, anns.access_token]) {
        const refused = await api('/identity', bearer);
        t.is(refused.status, 401);
        t.is(refused.body['code'], 'token_revoked');
      }
    };
    await assertRevoked();
    for (const { client } of [service, reports]) {
      await auth.clients.disable(client.id);
      await auth.clients.enable(client.id);
    }
    await assertRevoked();
    passTime(1.1);
    await assertRevoked();
    const refreshed = await token({
      grant_type: 'refresh_token',
      ...asClient(reports),
      refresh_token: anns.refresh_token,
    });
    t.is(refreshed.body.error, 'invalid_grant');
    const next = await token(ask);
    t.is((await api('/schools', next.body.access_token)).status, 200, 'a new token works');
    const records = await (await rest.developer('dora')).activity(service.client.id);
    t.like(
      records.find(({ type }) => type === 'tokens_revoked'),
      { actorId: 'dora', target: 'client' },
    );
  },
);

test('the page that confirms the revocation is translated to German', async (t) => {
  const interactions = pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] });
  const { browser, registerFor, token, url } = await openArea(t, 'dora', { interactions });
  const { client, secret } = await registerFor('dora');
  await token({ grant_type: 'client_credentials', client_id: client.id, client_secret: secret });
  const question = await browser.open(url(`/developer/apps/${client.id}/revoke?ui_locales=de`));
  t.is(question.heading, 'Alle Tokens von Nightly import widerrufen?');
  t.true(question.text.includes('Ersetzen Sie zuerst das Secret'));
  t.is((await browser.submit(question, 'Alle Tokens widerrufen')).status, 303);
});

onEachDatabaseInSeries(
  'gatehouse client revoke-tokens revokes all tokens of an app',
  async (t, _, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    const platform = await openDeveloperPlatform(t, { storage, tokens: { revocationLag: 1 } });
    const { api, signInAs, registerFor, token } = platform;
    const service = await registerFor(undefined, { permissions: ['view_schools'] });
    const reports = await registerFor(undefined, REPORTS);
    const ask = { grant_type: 'client_credentials', ...asClient(service) };
    const own = (await token(ask)).body.access_token;
    const anns = (await runCodeFlow(platform, reports, { browser: await signInAs('ann') })).body.access_token;
    for (const bearer of [own, anns]) t.is((await api('/identity', bearer)).status, 200);

    const env = { DATABASE_URL: address };
    const unasked = await gatehouse(`client revoke-tokens ${service.client.id}`, env);
    t.is(unasked.code, 2);
    t.true(unasked.errors.includes('Add --yes to do it.'), unasked.errors);
    for (const { client } of [service, reports]) {
      const words = ['client', 'revoke-tokens', client.id, '--yes'];
      t.deepEqual(await gatehouseJson(words, env), { revoked: client.id });
    }
    passTime(1.1);
    for (const bearer of [own, anns]) t.is((await api('/identity', bearer)).status, 401);
    t.is((await api('/schools', (await token(ask)).body.access_token)).status, 200);
    t.is((await gatehouse('client revoke-tokens nothing --yes', env)).code, 1);
  },
);

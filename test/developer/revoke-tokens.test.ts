import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { gatehouse, gatehouseJson } from '../cli/gatehouse.ts';
import { passTime } from '../harness/clock.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { clientToken, exchangeRefreshToken } from '../harness/tokens.ts';
import { openArea, REPORTS } from './area.ts';

onEachDatabaseInSeries(
  'all tokens of an app are revoked on its page, and stay revoked when the app is disabled and enabled; gatehouse revoke --client-id revokes all tokens of an app',
  async (t, _, address) => {
    const area = await openArea(t, 'dora', { storage: knexStorage(address), tokens: { revocationLag: 1 } });
    const { api, auth, browser, developer, signInAs, open, registerFor } = area;
    const service = await registerFor('dora', { permissions: ['view_schools'] });
    const reports = await registerFor('dora', REPORTS);
    const issue = async () => {
      const own = await clientToken(area, service);
      const { body } = await runCodeFlow(area, reports, { browser: await signInAs('ann') });
      for (const bearer of [own, body.access_token]) t.is((await api('/identity', bearer)).status, 200);
      return { bearers: [own, body.access_token], refresh: body.refresh_token };
    };
    const assertRevoked = async ({ bearers }: Awaited<ReturnType<typeof issue>>): Promise<void> => {
      for (const bearer of bearers) {
        const { body, status } = await api('/identity', bearer);
        t.deepEqual([status, body['code']], [401, 'token_revoked']);
      }
    };
    const issued = await issue();
    for (const { client } of [service, reports]) {
      const path = `/${client.id}/revoke`;
      t.true((await open(`/${client.id}/settings`)).html.includes(`href="/developer/apps${path}"`));
      const question = await open(path);
      t.is(question.heading, `Revoke all tokens of ${client.name} ?`);
      const answer = await browser.submit(question, 'Revoke all tokens');
      t.is(answer.status, 303);
      t.true((await browser.follow(answer)).text.startsWith('All tokens of the app are revoked.'));
    }
    await assertRevoked(issued);
    for (const { client } of [service, reports]) {
      await auth.clients.disable(client.id);
      await auth.clients.enable(client.id);
    }
    await assertRevoked(issued);
    passTime(1.1);
    await assertRevoked(issued);
    t.is((await exchangeRefreshToken(area, reports, issued.refresh)).body.error, 'invalid_grant');
    const records = await (await developer('dora')).activity(service.client.id);
    const revoked = records.find(({ type }) => type === 'tokens_revoked');
    t.like(revoked, { actorId: 'dora', target: 'client' });

    const later = await issue();
    const env = { DATABASE_URL: address };
    const unasked = await gatehouse(`revoke --client-id ${service.client.id}`, env);
    t.is(unasked.code, 2);
    t.true(unasked.errors.includes('Add --yes to do it.'), unasked.errors);
    for (const { client } of [service, reports]) {
      const words = ['revoke', '--client-id', client.id, '--yes'];
      t.deepEqual(await gatehouseJson(words, env), { revoked: { client_id: client.id } });
    }
    passTime(1.1);
    await assertRevoked(later);
    t.is((await api('/schools', await clientToken(area, service))).status, 200, 'a new token works');
    t.is((await gatehouse('revoke --client-id nothing --yes', env)).code, 1);
  },
);

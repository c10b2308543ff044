import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { like } from '../harness/like.ts';
import { authorize, authorizeUrl } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { REPORTS } from './area.ts';
import { openDeveloperPlatform, startDeveloperPlatform } from './developers.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startDeveloperPlatform());
  const { auth, registerFor, signInAs, url } = platform;
  const dora = await platform.developer('dora');
  const root = await platform.developer('root');
  const doras = await signInAs('dora');
  return { platform, auth, registerFor, signInAs, url, dora, root, doras };
});

const EVIL = 'https://evil.example/callback';

test('the owner cannot change redirect URIs, name, kind or scopes of a first-party app', async (t) => {
  const { registerFor, root, dora, doras, url, auth, platform } = await started();
  const app = await registerFor('dora', { ...REPORTS, scopes: ['schools:read'] });
  const { id } = app.client;
  const marked = await root.update(id, { firstParty: true });
  for (const [field, changes] of [
    ['redirectUris', { redirectUris: [...REPORTS.redirectUris, EVIL] }],
    ['name', { name: 'Acme Bank' }],
    ['clientUri', { clientUri: 'https://evil.example' }],
    ['postLogoutRedirectUris', { postLogoutRedirectUris: [EVIL] }],
    ['backchannelLogoutUri', { backchannelLogoutUri: 'https://evil.example/logout' }],
    ['native', { native: true }],
    ['confidential', { confidential: false }],
    ['scopes', { scopes: undefined }],
    ['scopes', { scopes: ['schools:read', 'schools:write'] }],
  ] as const) {
    await t.throwsAsync(dora.update(id, changes), {
      code: 'ERR_CLIENT_INVALID',
      message: `${field}: only an administrator can change this of a first-party client`,
    });
  }
  // Also not with a hand-made form.
  const version = String(marked.updatedAt);
  for (const change of [{ name: 'Acme Bank' }, { redirectUris: EVIL }]) {
    const form = { name: REPORTS.name, redirectUris: REPORTS.redirectUris[0], version, ...change };
    const posted = await doras.post(url(`/developer/apps/${id}/settings`), new URLSearchParams(form));
    t.is(posted.status, 422);
    t.true(posted.text.includes('Only an administrator changes this of a first-party app.'), posted.text);
  }
  t.deepEqual(await auth.clients.find(id), marked);
  const page = await doras.get(authorizeUrl(platform, app, { redirect_uri: EVIL }));
  t.deepEqual([page.status, page.location], [400, undefined]);
});

test('an administrator can change a first-party app, and its owner can remove scopes', async (t) => {
  const { registerFor, doras, url, root, dora, signInAs, platform, auth } = await started();
  const app = await registerFor('dora', { ...REPORTS, firstParty: true });
  const { id } = app.client;
  const page = await doras.open(url(`/developer/apps/${id}/settings`));
  const says =
    'Only an administrator changes its name, its homepage, its logo, its redirect URIs, and where it runs.';
  t.true(page.text.includes(says));
  t.true(page.text.includes('Redirect URIs https://reports.example/callback'));
  t.false(page.html.includes('<textarea'));
  const changes = { name: 'Acme Bank', redirectUris: [...REPORTS.redirectUris, EVIL] };
  like(t, await root.update(id, changes), changes);
  t.deepEqual((await dora.update(id, { scopes: ['schools:read'] })).scopes, ['schools:read']);
  t.deepEqual((await dora.update(id, { scopes: [] })).scopes, []);
  await t.throwsAsync(dora.update(id, { scopes: ['schools:read'] }), { code: 'ERR_CLIENT_INVALID' });

  const anns = await signInAs('ann');
  t.truthy((await authorize(platform, app, { browser: anns })).get('code'));
  await auth.clients.update(id, { firstParty: false });
  t.is((await anns.open(authorizeUrl(platform, app))).heading, 'Authorize Acme Bank');
});

onEachDatabase(
  'of concurrent changes by the owner and to first-party by an administrator one is refused',
  async (t, _, address) => {
    const own = await openDeveloperPlatform(t, { storage: knexStorage(address) });
    const [owner, administrator] = [await own.developer('dora'), await own.developer('root')];
    for (let time = 0; time < 10; time += 1) {
      const { client } = await own.registerFor('dora', REPORTS);
      const results = await Promise.allSettled([
        owner.update(client.id, { redirectUris: [EVIL] }),
        administrator.update(client.id, { firstParty: true }, { ifUpdatedAt: client.updatedAt }),
      ]);
      t.is(results.filter(({ status }) => status === 'fulfilled').length, 1);
      const after = (await own.auth.clients.find(client.id))!;
      t.false(after.firstParty && after.redirectUris.includes(EVIL));
    }
  },
);

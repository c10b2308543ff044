import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { authorize, authorizeUrl } from '../harness/platform.ts';
import { REPORTS } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';
import type { DeveloperPlatform } from './developers.ts';

const EVIL = 'https://evil.example/callback';

/** Each change that would give a first-party app more access, or another appearance. */
const CHANGES = [
  ['redirectUris', { redirectUris: [...REPORTS.redirectUris, EVIL] }],
  ['redirectUris', { redirectUris: [EVIL] }],
  ['name', { name: 'Acme Bank' }],
  ['clientUri', { clientUri: 'https://evil.example' }],
  ['backchannelLogoutUri', { backchannelLogoutUri: 'https://evil.example/logout' }],
  ['native', { native: true, confidential: false }],
  ['confidential', { confidential: false }],
  ['scopes', { scopes: undefined }],
  ['scopes', { scopes: ['schools:read', 'schools:write'] }],
] as const;

async function openOnDatabase(t: ExecutionContext, address: string): Promise<DeveloperPlatform> {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  return openDeveloperPlatform(t, { storage });
}

onEachDatabase(
  'the owner cannot change redirect URIs, name, kind or scopes of a first-party app',
  async (t, _, address) => {
    const platform = await openOnDatabase(t, address);
    const { auth, developer, signInAs, registerFor, url } = platform;
    const victim = await signInAs('ann');
    const doras = await signInAs('dora');
    const dora = await developer('dora');
    const root = await developer('root');
    for (const [field, changes] of CHANGES) {
      const app = await registerFor('dora', { ...REPORTS, scopes: ['schools:read'] });
      const marked = await root.update(app.client.id, { firstParty: true });
      const error = await t.throwsAsync(dora.update(app.client.id, changes), {
        code: 'ERR_CLIENT_INVALID',
        message: /only an administrator can change this of a first-party client/,
      });
      t.true((error as unknown as { fields: { field: string }[] }).fields.some((one) => one.field === field));

      // Also not with a hand-made form.
      const form = {
        name: 'name' in changes ? changes.name : REPORTS.name,
        redirectUris: ('redirectUris' in changes ? changes.redirectUris : REPORTS.redirectUris).join('\n'),
        version: String(marked.updatedAt),
      };
      if (field === 'name' || field === 'redirectUris') {
        const posted = await doras.post(url(`/developer/apps/${app.client.id}`), new URLSearchParams(form));
        t.is(posted.status, 422);
        t.true(posted.text.includes('Only an administrator changes this of a first-party app.'), posted.text);
      }
      t.deepEqual(await auth.clients.find(app.client.id), marked);
      const page = await victim.get(authorizeUrl(platform, app, { redirect_uri: EVIL }));
      t.is(page.status, 400);
      t.is(page.location, undefined);
    }
  },
);

onEachDatabase(
  'an administrator can change a first-party app, and its owner can remove scopes',
  async (t, _, address) => {
    const platform = await openOnDatabase(t, address);
    const { developer, signInAs, registerFor, url } = platform;
    const { client } = await registerFor('dora', { ...REPORTS, firstParty: true });
    const doras = await signInAs('dora');
    const page = await doras.open(url(`/developer/apps/${client.id}`));
    t.true(
      page.text.includes(
        'Only an administrator changes its name, its homepage, its logo, its redirect URIs, and where it runs.',
      ),
    );
    t.true(page.text.includes('Redirect URIs https://reports.example/callback'));
    t.false(page.html.includes('<textarea'));

    const root = await developer('root');
    for (const [, changes] of CHANGES.slice(0, 3)) t.like(await root.update(client.id, changes), changes);
    const dora = await developer('dora');
    t.deepEqual((await dora.update(client.id, { scopes: ['schools:read'] })).scopes, ['schools:read']);
    t.deepEqual((await dora.update(client.id, { scopes: [] })).scopes, []);
    await t.throwsAsync(dora.update(client.id, { scopes: ['schools:read'] }), { code: 'ERR_CLIENT_INVALID' });
    t.true((await dora.disable(client.id)).disabled);
  },
);

onEachDatabase(
  'of concurrent changes by the owner and to first-party by an administrator one is refused',
  async (t, _, address) => {
    const platform = await openOnDatabase(t, address);
    const { auth, developer, registerFor } = platform;
    const [dora, root] = [await developer('dora'), await developer('root')];
    for (let time = 0; time < 10; time += 1) {
      const { client } = await registerFor('dora', REPORTS);
      const [changed, marked] = await Promise.allSettled([
        dora.update(client.id, { redirectUris: [EVIL] }),
        root.update(client.id, { firstParty: true }, { ifUpdatedAt: client.updatedAt }),
      ]);
      t.is([changed, marked].filter(({ status }) => status === 'fulfilled').length, 1);
      const after = await auth.clients.find(client.id);
      t.false(after!.firstParty && after!.redirectUris.includes(EVIL));
    }
  },
);

onEachDatabase('an app that is no longer first-party asks for consent', async (t, _, address) => {
  const platform = await openOnDatabase(t, address);
  const { auth, signInAs, registerFor } = platform;
  const app = await registerFor('dora', { ...REPORTS, firstParty: true });
  const browser = await signInAs('ann');
  t.truthy((await authorize(platform, app, { browser })).get('code'));
  await auth.clients.update(app.client.id, { firstParty: false });
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Authorize Reports');
});

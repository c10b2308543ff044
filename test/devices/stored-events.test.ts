// The events of devices stay when the feature is switched off, and with them the addresses of users.
import test from '../harness/test.ts';
import { createAdministration, devices } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { DAY, toSeconds } from '../../lib/contracts/duration.ts';
import { startDeveloperPlatform } from '../developer/developers.ts';

const ADDRESS = '203.0.113.7';

for (const [title, features] of Object.entries({
  'the owner of an app sees no addresses of devices': [devices()],
  'nor where the feature is off': [],
}))
  test(title, async (t) => {
    const storage = memoryStorage();
    await using platform = await startDeveloperPlatform({ storage, features });
    const { client } = await platform.registerFor('dora', {
      grantType: 'authorization_code',
      redirectUris: ['https://tool.example/callback'],
    });
    const at = Date.now() / 1000;
    await storage.audit.append(
      [
        {
          id: 'event',
          at,
          type: 'device_authorized',
          userId: 'ann',
          clientId: client.id,
          scopes: [],
          deviceAddress: ADDRESS,
          address: ADDRESS,
        } as never,
      ],
      toSeconds(at) + DAY,
    );
    const developer = await platform.developer('dora');
    const shown = (await developer.activity(client.id)).filter(({ type }) => type === 'device_authorized');
    t.is(shown.length, 1);
    t.false(JSON.stringify(shown).includes(ADDRESS));

    const administration = createAdministration({ storage });
    await administration.userData.erase('ann');
    const [erased] = await storage.audit.list({ types: ['device_authorized'] });
    t.like(erased, { clientId: client.id });
    t.false(JSON.stringify(erased).includes(ADDRESS));
    await administration.close();
  });

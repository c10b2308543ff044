import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';

import { onEachDatabase } from '../adapters/databases.ts';
import { openStorage } from '../adapters/host-knex.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import type { Platform } from '../harness/platform.ts';
import { around, pausable } from '../harness/storage.ts';
import { askConsent, connect, refresh, requestOf, serveDocument, startWithDocuments } from './documents.ts';
import { startTwo } from '../harness/cluster.ts';

const BOB: [string, string] = ['bob@school.example', 'battery staple'];

/** Two nodes of one server, whose calls of one method of the storage wait for one another once. */
async function startNodes(
  t: ExecutionContext,
  address: string,
  together?: string,
): Promise<{ here: Platform; there: Platform }> {
  let waiting = 0;
  const all = Promise.withResolvers<void>();
  const openNode = async (): Promise<Storage> =>
    around(await openStorage(t, address), async (name, call) => {
      if (name === together) {
        waiting += 1;
        if (waiting >= 2) all.resolve();
        await all.promise;
      }
      return call();
    });
  return startTwo([await openNode(), await openNode()], async (node) =>
    startWithDocuments(t, {}, { ...node, tokens: { revocationLag: 1 } }),
  );
}

test('an app with a document uses both nodes', async (t) => {
  const { here, there } = await startNodes(t, `sqlite:${temporaryFile()}`);
  const site = await serveDocument(t);
  const answer = await connect(here, site.id);
  t.is(answer.status, 200);
  // The other node has not seen the document, and needs it for an authorization only.
  const next = await refresh(there, site.id, answer);
  t.is(next.status, 200);
  t.is((await there.api('/schools', next.body.access_token)).status, 200);
  like(t, await there.auth.clients.find(site.id), {
    source: 'metadata_document',
    scopes: ['schools:read'],
  });

  await there.auth.clients.disable(site.id);
  t.is((await refresh(there, site.id, next)).body.error, 'invalid_client');
  await there.auth.clients.enable(site.id);
  t.true(await there.auth.clients.delete(site.id));
  t.is(await here.auth.clients.find(site.id), undefined);
  t.is((await connectAt(there, here, site.id)).status, 200);
  t.is((await refresh(there, site.id, next)).body.error, 'invalid_grant');
});

onEachDatabase('two users consent first, at the same time on two nodes', async (t, _database, address) => {
  const { here, there } = await startNodes(t, address, 'clients.insert');
  const site = await serveDocument(t);
  const answers = await Promise.all([connect(here, site.id), connectAt(there, here, site.id)]);
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  await Promise.all([here.auth.audit.flush(), there.auth.audit.flush()]);
  const created = await here.auth.audit.list({ clientId: site.id, types: ['client_created'] });
  t.is(created.length, 1);
  t.is((await here.auth.clients.list({ search: 'Agent' })).length, 1);
});

onEachDatabase('a consent that was begun before the app was deleted', async (t, _database, address) => {
  const { here, there } = await startNodes(t, address);
  const site = await serveDocument(t);
  const anns = await connect(here, site.id);
  const browser = new Browser();
  const page = await askConsent(browser, requestOf(here, site.id), BOB);
  t.true(await there.auth.clients.delete(site.id));
  t.true(page.html.includes('Authorize</button>'));
  const after = await browser.follow(await browser.submit(page, 'Authorize'));
  // Whether or not this node still remembered the row: what was authorized before stays ended.
  t.is(after.status < 500, true, after.text);
  t.not((await refresh(there, site.id, anns)).status, 200);
  t.is((await connectAt(there, here, site.id)).status, 200);
});

/** The flow of a user whose browser reaches the other node under the origin of the issuer. */
async function connectAt(node: Platform, issuer: Platform, id: string): ReturnType<typeof connect> {
  const reach = (url: URL): URL => new URL(url.href.replace(issuer.origin, node.origin));
  return connect({ ...issuer, token: async (given) => node.token(given) }, id, {
    browser: new Browser(reach),
    person: BOB,
  });
}

onEachDatabase(
  'one administrator disables the app while another deletes it',
  async (t, _database, address) => {
    const { pause, storage } = pausable(await openStorage(t, address));
    const platform = await startWithDocuments(t, {}, { storage });
    const { clients } = platform.auth;
    const site = await serveDocument(t);
    await connect(platform, site.id);
    const { reached, resume } = pause('clients.delete');
    const deleting = t.throwsAsync(clients.delete(site.id), { message: /would come back/ });
    await reached;
    await clients.disable(site.id);
    resume();
    await deleting;
    t.true((await clients.find(site.id))?.disabled);
  },
);

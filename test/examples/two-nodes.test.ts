import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { createBalancer, createNode } from '../../examples/two-nodes.ts';
import { postgresql } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { listenerOf } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { serve } from '../harness/serve.ts';

const REDIRECT_URI = 'https://reports.example/callback';

postgresql.register('two nodes work as one server for a user and for a client', async (t) => {
  const database = await postgresql.empty();
  await using stack = new AsyncDisposableStack();
  const ports: number[] = [];
  const balancer = createBalancer(ports).listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  stack.defer(() => {
    balancer.closeAllConnections();
    balancer.close();
  });
  const issuer = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
  const settings = { issuer, database, keyEncryptionKey: 'a key that is in no database, for tests' };
  // Both start on an empty database.
  const nodes = await Promise.all([createNode(settings), createNode(settings)]);
  const origins: string[] = [];
  for (const { app, auth } of nodes) {
    stack.defer(async () => auth.close());
    const { origin } = stack.use(await serve(() => listenerOf(app)));
    origins.push(origin);
    ports.push(Number(new URL(origin).port));
  }

  const { client, secret } = await nodes[0].auth.clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: [REDIRECT_URI],
  });
  const url = new URL('/oauth/authorize', issuer);
  url.search = new URLSearchParams({
    client_id: client.id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
  }).toString();
  const browser = new Browser();
  const login = await browser.open(url);
  const consent = await browser.follow(
    await browser.submit(login, 'Sign in', { login: 'ann@school.example', password: 'correct horse' }),
  );
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));

  const credentials = { client_id: client.id, client_secret: secret!.value };
  const code = {
    grant_type: 'authorization_code',
    code: location!.searchParams.get('code')!,
    redirect_uri: REDIRECT_URI,
  };
  const [first, second] = await Promise.all(
    origins.map(async (origin) => postForm(`${origin}/oauth/token`, { ...code, ...credentials })),
  );
  const statuses = [first!.status, second!.status].toSorted((a, b) => a - b);
  t.deepEqual(statuses, [200, 400], 'a code is redeemed once');
});

postgresql.register('a revocation on one node takes effect on the other', async (t) => {
  const database = await postgresql.empty();
  await using stack = new AsyncDisposableStack();
  const issuer = 'http://127.0.0.1:3000';
  const settings = { issuer, database, keyEncryptionKey: 'a key that is in no database, for tests' };
  const [one, other] = await Promise.all([createNode(settings), createNode(settings)]);
  const origins: string[] = [];
  for (const { app, auth } of [one, other]) {
    stack.defer(async () => auth.close());
    origins.push(stack.use(await serve(() => listenerOf(app))).origin);
  }
  const { client, secret } = await one.auth.clients.create({
    name: 'Nightly report',
    grantType: 'client_credentials',
    permissions: ['view_schools'],
  });
  const issued = await postForm(`${origins[0]}/oauth/token`, {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret!.value,
  });
  const headers = { authorization: `Bearer ${String(issued.body?.['access_token'])}` };
  const statuses = async (): Promise<number[]> =>
    Promise.all(origins.map(async (origin) => (await send(`${origin}/api/v1/schools`, { headers })).status));
  t.deepEqual(await statuses(), [200, 200], 'both accept the token');
  await other.auth.revoke({ client: client.id });
  const deadline = Date.now() + 5000;
  while ((await statuses()).some((status) => status !== 401)) t.true(Date.now() < deadline);
});

import test from '../harness/test.ts';
import { pushedRequests } from 'koa-gatehouse';
import { testServer } from 'koa-gatehouse/testing';

const ANN = { id: '1', name: 'Ann', email: 'ann@school.example' };

test('authorize() and deny() push where the server requires it', async (t) => {
  for (const path of ['', '/auth']) {
    await using server = await testServer({
      issuer: (origin) => origin + path,
      users: [ANN],
      scopes: { 'schools:read': { description: 'See your schools', permissions: [] } },
      features: [pushedRequests({ required: true })],
    });
    for (const confidential of [true, false]) {
      const app = await server.auth.clients.create({
        name: 'Reports',
        grantType: 'authorization_code',
        redirectUris: ['https://reports.example/callback'],
        confidential,
      });
      const request = { scopes: ['schools:read'], state: 'xyz' };
      t.is((await server.deny(app, ANN, request)).searchParams.get('error'), 'access_denied');
      const { callback, exchange } = await server.authorize(app, ANN, request);
      t.is(callback.searchParams.get('state'), 'xyz');
      t.is((await exchange()).scope, 'schools:read');
    }
  }
});

import test from 'ava';

import { request } from '../access/serve.ts';
import { serveApi } from './api.ts';

const PATHS = ['/objects/school', '/objects/school/7', '/objects/school/schema', '/objects/school/actions'];

test('the planned paths of the Objects API answer 501', async (t) => {
  const { platform, origin } = await serveApi(t);
  for (const path of PATHS) {
    const { status, body } = await request(`${origin}/api/v1${path}`, await platform.userToken());
    t.is(status, 501, path);
    t.is(body['code'], 'not_implemented');
    t.is(body['title'], 'Not Implemented');
    t.is(body['message'], 'The Objects API is planned and not available yet.');
  }
});

test('without a token they answer 401', async (t) => {
  const { origin } = await serveApi(t);
  for (const path of PATHS) t.is((await request(`${origin}/api/v1${path}`)).status, 401, path);
});

test('other methods are not planned: 405', async (t) => {
  const { platform, origin } = await serveApi(t);
  const { status, headers } = await request(`${origin}/api/v1/objects/school`, await platform.userToken(), {
    method: 'POST',
  });
  t.is(status, 405);
  t.is(headers.get('allow'), 'HEAD, GET, OPTIONS');
});

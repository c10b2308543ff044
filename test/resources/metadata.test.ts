import { request } from 'node:http';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';

import test from '../harness/test.ts';

import { like } from '../harness/like.ts';
import { startPlatform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { DOCUMENTS, startApis } from './apis.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

const started = shared(async (stack) => {
  const platform = stack.use(await startApis());
  return { platform };
});

async function read(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

test('the metadata of the default API is at the root', async (t) => {
  const { platform } = await started();
  const response = await fetch(platform.url(WELL_KNOWN), { headers: { origin: 'https://agent.example' } });
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
  t.is(response.headers.get('cache-control'), 'public, max-age=3600');
  t.is(response.headers.get('access-control-allow-origin'), '*');
  t.deepEqual(await response.json(), {
    resource: platform.origin,
    authorization_servers: [platform.origin],
    scopes_supported: ['schools:read', 'schools:write'],
    bearer_methods_supported: ['header'],
  });
});

test('the path of an API on the same host is inserted', async (t) => {
  for (const path of ['', '/auth']) {
    let origin = '';
    await using own = await startPlatform(
      {
        get resources() {
          return { [`${origin}/files`]: { name: 'Files' }, [`${origin}${path}/mcp/`]: {} };
        },
      },
      {
        path,
        inFront: (listening) => (origin = listening),
      },
    );
    t.deepEqual(await read(`${origin}${WELL_KNOWN}/files`), {
      resource: `${origin}/files`,
      resource_name: 'Files',
      authorization_servers: [own.auth.issuer],
      bearer_methods_supported: ['header'],
    });
    t.like(await read(`${origin}${WELL_KNOWN}${path}/mcp/`), { resource: `${origin}${path}/mcp/` });
    t.like(await read(`${origin}${WELL_KNOWN}${path}`), { resource: own.auth.issuer });
    t.is((await fetch(`${origin}${WELL_KNOWN}/unknown`)).status, 404);
  }
});

test('the metadata of an API on another host is served for that host only', async (t) => {
  const { platform } = await started();
  const get = async (host: string): Promise<{ status: number | undefined; body: unknown }> => {
    const [response] = await once(
      request(platform.url(`${WELL_KNOWN}/v1`), { headers: { host } }).end(),
      'response',
    );
    const { statusCode: status } = response;
    return { status, body: status === 200 ? await json(response) : response.resume() && undefined };
  };
  like(t, await get('documents.example'), {
    status: 200,
    body: {
      resource: DOCUMENTS,
      resource_name: 'Documents',
      authorization_servers: [platform.origin],
      scopes_supported: ['read', 'write'],
    },
  });
  t.is((await get('evil.example')).status, 404);
  t.is((await get(platform.url('/').host)).status, 404);
});

test('programs in browsers can read it, and other methods are refused', async (t) => {
  const { platform } = await started();
  const url = platform.url(WELL_KNOWN);
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://agent.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'mcp-protocol-version',
    },
  });
  t.is(preflight.status, 204);
  t.is(preflight.headers.get('access-control-allow-origin'), '*');
  t.is(preflight.headers.get('access-control-allow-headers'), '*');
  const head = await fetch(url, { method: 'HEAD' });
  t.is(head.status, 200);
  const posted = await fetch(url, { method: 'POST', body: 'x' });
  t.is(posted.status, 405);
  t.is(posted.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('the scopes of all APIs are in the metadata of the authorization server', async (t) => {
  const { platform } = await started();
  const response = await fetch(platform.url('/.well-known/oauth-authorization-server'));
  like(t, await response.json(), {
    scopes_supported: ['schools:read', 'schools:write', 'read', 'write', 'offline_access'],
  });
});

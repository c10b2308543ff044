/** What the endpoints of devices refuse (RFC 8628): a row is one wrong request. */
import test from '../harness/test.ts';

import type { RegisteredApp } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { asClient, requestClientToken } from '../harness/tokens.ts';
import { poll, registerDevice, requestCode, startDevicePlatform } from './device.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startDevicePlatform({ limits: { attempts: false } }));
  const reader = await registerDevice(platform, { scopes: ['schools:read'] });
  const television = await registerDevice(platform, { name: 'Television', confidential: true });
  return {
    platform,
    device: await registerDevice(platform),
    reader,
    web: await platform.registerApp(),
    /** A confidential device with a wrong secret. */
    television: { ...television, secret: 'wrong' } satisfies RegisteredApp,
    post: async (body: unknown) => postJson(platform.url('/oauth/device_authorization'), body),
  };
});

type Given = Awaited<ReturnType<typeof started>>;

const ROWS: readonly (readonly [
  title: string,
  request: (given: Given) => Promise<Pick<Answer, 'status' | 'body'>>,
  status: number,
  error: string,
])[] = [
  ['a request without a client', async ({ post }) => post({}), 400, 'invalid_request'],
  ['an unknown client', async ({ post }) => post({ client_id: 'unknown' }), 401, 'invalid_client'],
  ['a list as body', async ({ post }) => post('[1]'), 400, 'invalid_request'],
  [
    'an unknown resource',
    async ({ device, post }) => post({ ...asClient(device), resource: 'nonsense' }),
    400,
    'invalid_target',
  ],
  [
    'a wrong secret',
    async ({ platform, television }) => requestCode(platform, television),
    401,
    'invalid_client',
  ],
  [
    'an unknown scope',
    async ({ device, platform }) => requestCode(platform, device, { scope: 'schools:read nonsense' }),
    400,
    'invalid_scope',
  ],
  [
    'a scope that the client is not registered with',
    async ({ platform, reader }) => requestCode(platform, reader, { scope: 'schools:write' }),
    400,
    'invalid_scope',
  ],
  [
    'a client of another grant type',
    async ({ platform, web }) => requestCode(platform, web),
    400,
    'unauthorized_client',
  ],
  [
    'a poll with a wrong secret',
    async ({ platform, television }) => poll(platform, television, 'any'),
    401,
    'invalid_client',
  ],
  [
    'a poll of a client of another grant type',
    async ({ platform, web }) => poll(platform, web, 'any'),
    400,
    'unauthorized_client',
  ],
  [
    'a poll with an unknown code',
    async ({ device, platform }) => poll(platform, device, 'unknown'),
    400,
    'invalid_grant',
  ],
  [
    'a poll without a code',
    async ({ device, platform }) => poll(platform, device, ''),
    400,
    'invalid_request',
  ],
  [
    'client credentials of a device',
    async ({ device, platform }) => requestClientToken(platform, device),
    400,
    'unauthorized_client',
  ],
];

for (const [title, request, status, error] of ROWS) {
  test(`device endpoints: ${title}`, async (t) => {
    t.like(await request(await started()), { status, body: { error } });
  });
}

test('device endpoints: GET', async (t) => {
  const { platform } = await started();
  const { headers, status } = await send(platform.url('/oauth/device_authorization'));
  t.deepEqual([status, headers.get('allow')], [405, 'POST, OPTIONS']);
});

import { bodyParser } from '@koa/bodyparser';
import test from '../harness/test.ts';
import fc from 'fast-check';

import { CALLBACK } from './documents.ts';
import { hostApp } from '../embedding/host.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { SEED } from '../harness/seed.ts';
import { ODD_VALUES } from '../security/sweep/odd-values.ts';
import { AGENT, manage, register, registered, startOpen } from './apps.ts';

const ODD: readonly unknown[] = [
  ...ODD_VALUES,
  null,
  0,
  true,
  [],
  {},
  [null],
  [[]],
  'http://169.254.169.254/',
  'https://[',
  'https://a.example\\@b.example/',
  'HTTPS://A.EXAMPLE:443/%2e%2e/',
  'http://localhost:99999/',
  'http://127.1/',
  'com.example:',
  'none',
  'native',
  'schools:read',
  'authorization_code',
];

const MEMBERS = [
  'redirect_uris',
  'client_name',
  'token_endpoint_auth_method',
  'grant_types',
  'response_types',
  'application_type',
  'scope',
  'software_statement',
  'client_id',
  'client_secret',
  'constructor',
  'toString',
];

const value = fc.oneof(
  fc.constantFrom(...ODD),
  fc.array(fc.constantFrom(...ODD), { maxLength: 5 }),
  fc.jsonValue({ maxDepth: 3 }),
  // Not fast-check's own `webUrl()`, which first makes a table of all characters.
  fc
    .tuple(
      fc.constantFrom('https', 'http', 'app'),
      fc.domain(),
      fc.constantFrom('', '/', ':8443/a/../b', '/%zz?c=d#e', '/?=&c#'),
    )
    .map(([scheme, domain, rest]) => `${scheme}://${domain}${rest}`),
);
const metadata = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(fc.constantFrom(...MEMBERS), value), { maxLength: 5 }))
  .map(([isBased, members]) => Object.fromEntries([...(isBased ? Object.entries(AGENT) : []), ...members]));

/** What is wrong with an answer. */
function harmIn({ body, headers, status, text }: Answer): string | undefined {
  if (status !== 200 && status !== 201 && (status < 400 || status > 499)) return `${status} ${text}`;
  if (!headers.get('content-type')?.startsWith('application/json')) return 'no JSON';
  if (headers.get('cache-control') !== 'no-store') return 'may be stored';
  if (status >= 400 && !/^[\x20-\x7e]+$/.test(body!['error_description'] as string)) return text;
  return text.length > 60_000 ? 'long' : undefined;
}

test('whatever a stranger sends gets 201 or 4xx, and what is registered is what the policy permits', async (t) => {
  const platform = await startOpen(t, {
    registration: { perAddress: 100_000, maxClients: 100_000 },
  });
  const own = await registered(platform);
  await fc.assert(
    fc.asyncProperty(metadata, async (sent) => {
      const answer = await register(platform, sent);
      const harm = harmIn(answer);
      if (harm !== undefined) throw new Error(harm);
      if (answer.status !== 201) return;
      const client = (await platform.auth.clients.find(answer.body!['client_id'] as string))!;
      t.true(client.scopes!.every((scope) => scope === 'schools:read'));
      t.is(client.grantType, 'authorization_code');
      t.deepEqual([client.firstParty, client.roles, client.permissions], [false, [], []]);
      t.false(client.native && client.confidential);
    }),
    { seed: SEED, numRuns: 200 },
  );
  await fc.assert(
    fc.asyncProperty(metadata, async (sent) => {
      const harm = harmIn(await manage(own, 'PUT', { client_id: own.client_id, ...sent }));
      if (harm !== undefined) throw new Error(harm);
    }),
    { seed: SEED, numRuns: 100 },
  );
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

test('an app registers itself behind the body parser of a host, and in front of it', async (t) => {
  for (const front of [[bodyParser()], []]) {
    const mounting = { app: hostApp({ front }), path: '/auth' };
    const platform = await startOpen(t, { mounting });
    const registration = await registered(platform);
    t.deepEqual(registration.redirect_uris, [CALLBACK]);
    t.is((await manage(registration, 'GET')).status, 200);
    t.is((await register(platform, '[]')).status, 400);
    const form = await send(platform.url('/oauth/register'), {
      method: 'POST',
      body: new URLSearchParams({ client_name: 'a' }),
    });
    t.is(form.status, 415);
  }
});

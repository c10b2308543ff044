import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { json, ON_LOOPBACK, servePublic } from '../harness/public-server.ts';
import { issuerKeys, startTrusted } from './identity-provider.ts';
import type { TrustedPlatform } from './identity-provider.ts';

const idp = { profile: 'id-jag', scopes: ['schools:read'], findUser: () => undefined } as const;

/** What the doctor finds that is of this feature. */
async function findingsOf(
  platform: TrustedPlatform,
): Promise<readonly (readonly [string, string, string])[]> {
  const found = await platform.auth.doctor();
  return found
    .filter(({ code }) => /^(?:trusted_issuer|workload_rule)_/.test(code))
    .map(({ code, message, severity }) => [code, severity, message]);
}

const unreachable = (name: string, why: string): readonly [string, string, string] => [
  'trusted_issuer_unreachable',
  'warning',
  `The public keys of ${name}, an issuer of trustedIssuers(), cannot be fetched: ${why}.`,
];

test('the doctor finds issuers whose keys cannot be fetched, and why', async (t) => {
  const keys = { keys: [(await issuerKeys()).publicJwk] };
  const documents = new Map<string, unknown>();
  await using site = await servePublic((request, response) => {
    const document = documents.get(request.url!);
    if (document === undefined) response.writeHead(404).end();
    else json(document)(request, response);
  });
  const { origin: issuer } = site;
  await using platform = await startTrusted(
    { more: { [issuer]: idp, 'https://other.apps.example': { ...idp, keys: `${issuer}/keys` } } },
    {},
    ON_LOOPBACK,
  );
  const status = 'the status of the response is not 200';
  t.deepEqual(await findingsOf(platform), [
    unreachable(issuer, status),
    unreachable('https://other.apps.example', status),
  ]);
  const metadata = '/.well-known/openid-configuration';
  documents.set(metadata, { issuer: 'https://another.example', jwks_uri: `${issuer}/keys` });
  documents.set('/keys', { keys: [] });
  t.deepEqual(await findingsOf(platform), [
    unreachable(
      issuer,
      `the metadata at ${issuer}${metadata} are not those of the issuer, or have no jwks_uri`,
    ),
    unreachable('https://other.apps.example', 'it is no JWK Set'),
  ]);
  documents.set(metadata, { issuer, jwks_uri: `${issuer}/keys` });
  documents.set('/keys', keys);
  t.deepEqual(await findingsOf(platform), []);
  // Whatever is kept of the keys.
  documents.clear();
  t.is((await findingsOf(platform)).length, 2);
});

test('the doctor finds rules by which no workload gets a token', async (t) => {
  const storage = memoryStorage();
  await using before = await startTrusted({}, { storage });
  const service = await before.registerService();
  const app = await before.registerApp();
  const disabled = await before.registerService();
  await before.auth.clients.disable(disabled.client.id);
  const rules = [service.client.id, app.client.id, disabled.client.id, 'nobody'].map((client) => ({
    client,
    match: { sub: 'x' },
  }));
  await using platform = await startTrusted({ ci: { rules } }, { storage, issuer: before.auth.issuer });
  const found = await findingsOf(platform);
  t.deepEqual(
    found.map(([code, , message]) => `${code} ${message.slice(message.indexOf('rules['))}`),
    [
      `workload_rule_without_client rules[1]: its client ${app.client.id} acts for users.`,
      `workload_rule_without_client rules[2]: its client ${disabled.client.id} is disabled.`,
      'workload_rule_without_client rules[3]: its client nobody does not exist.',
    ],
  );
});

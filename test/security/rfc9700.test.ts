import { readFileSync } from 'node:fs';

import test from 'ava';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { mistakesIn } from './test-references.ts';

const TABLE = new URL('../../docs/review/rfc9700.md', import.meta.url);

/** The sections with requirements for servers. Several have more than one row. */
const SECTIONS =
  '2.1 2.1.1 2.1.2 2.2.1 2.2.2 2.3 2.4 2.5 2.6 4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 4.10 4.11 4.12 4.13 4.14 4.15 4.16 4.17';

const STRENGTH =
  /^(?:MUST|MUST NOT|SHOULD|SHOULD NOT|RECOMMENDED|MAY|advice|encouraged)(?: \((?:client|resource server)\))?$/;

interface Row {
  readonly sections: readonly string[];
  readonly strength: string;
  readonly what: string;
  readonly shownBy: string;
}

const rows: readonly Row[] = Array.from(
  readFileSync(TABLE, 'utf8').matchAll(/^\| +(\d[\d., ]*?) +\| +(.*?) +\| +(.*?) +\| +(.*?) +\|$/gm),
  ([, sections = '', strength = '', what = '', shownBy = '']) => ({
    sections: sections.split(', '),
    strength,
    what,
    shownBy,
  }),
);

test('every row names existing tests, or says why the requirement does not hold', (t) => {
  t.true(rows.length > 50, `${rows.length}`);
  for (const { shownBy, strength, what } of rows) {
    t.regex(strength, STRENGTH, what);
    if (/^(?:Does not hold|Does not apply|Left to you): .{20}/.test(shownBy)) continue;
    t.deepEqual(mistakesIn(shownBy, TABLE), [], what);
  }
});

test('every section of the RFC has a row', (t) => {
  const present = rows.flatMap(({ sections }) => sections);
  for (const section of SECTIONS.split(' ')) {
    t.true(
      present.some((one) => one === section || one.startsWith(`${section}.`)),
      section,
    );
  }
});

type Probe = (platform: Platform) => Promise<boolean>;

/** Whether a requirement holds on a running server, by the first words of its row. */
const PROBES: Readonly<Record<string, Probe>> = {
  'No redirect URI with `http`': async (platform) =>
    platform.registerApp({ redirectUris: ['http://reports.example/callback'] }).then(
      () => false,
      () => true,
    ),
  'No redirect before the user has signed in': async (platform) => {
    const app = await platform.registerApp();
    const answer = await new Browser().get(authorizeUrl(platform, app, { scope: 'unknown' }));
    return answer.location?.origin !== new URL(app.redirectUri).origin;
  },
  'Access tokens are sender-constrained': async (platform) => {
    const metadata = await metadataOf(platform);
    return (
      'dpop_signing_alg_values_supported' in metadata ||
      metadata['tls_client_certificate_bound_access_tokens'] === true
    );
  },
  'By asymmetric cryptography': async (platform) => {
    const { token_endpoint_auth_methods_supported: methods } = await metadataOf(platform);
    return (methods as string[]).some((method) => /private_key_jwt|tls_client_auth/.test(method));
  },
  'No password grant': async (platform) => {
    const { grant_types_supported: grants } = await metadataOf(platform);
    return !(grants as string[]).includes('password');
  },
};

async function metadataOf(platform: Platform): Promise<Record<string, unknown>> {
  const { body } = await send(`${platform.origin}/.well-known/oauth-authorization-server`);
  return body as Record<string, unknown>;
}

test('a running server meets the requirements that the table says it meets, and no others', async (t) => {
  // With the options that rows name.
  await using platform = await startPlatform({ clients: { keys: true } });
  for (const [what, probe] of Object.entries(PROBES)) {
    const row = rows.find((one) => one.what.startsWith(what));
    t.truthy(row, what);
    t.is(!row!.shownBy.startsWith('Does not hold'), await probe(platform), what);
  }
});

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

import test from '../../harness/test.ts';
import { devices, personalTokens } from 'koa-gatehouse';
import type { ExecutionContext } from 'ava';
import type { Client, ClientFields } from 'koa-gatehouse';

import { boxes, openArea, valueOf } from '../../developer/area.ts';
import type { Area } from '../../developer/area.ts';
import { passwordOf } from '../../developer/developers.ts';
import type { DeveloperPlatform } from '../../developer/developers.ts';
import { answer } from '../../devices/device.ts';
import { Browser } from '../../harness/browser.ts';
import { assertionParameters, makeKeyPair } from '../../harness/client-keys.ts';
import { signIn, signedIn } from '../../harness/platform.ts';
import { cannotRun, linesIn, runLines } from './copied-lines.ts';
import type { Language, Person } from './copied-lines.ts';

const { email, password } = passwordOf('ann');

/** Ann, who authorizes each app. */
function ann(platform: DeveloperPlatform, secret: string): Person {
  return {
    secret,
    async authorize(address) {
      const browser = new Browser(platform.reach);
      const consent = await signIn(browser, await browser.open(address), email, password);
      const page = await browser.follow(await browser.submit(consent, 'Authorize'));
      return page.location!.href;
    },
    async connect(address) {
      const code = new URL(address).searchParams.get('user_code')!;
      const page = await answer(platform, await signedIn(platform, email, password), code);
      if (page.heading !== 'Your device is connected') throw new Error(page.text);
    },
  };
}

const LANGUAGES: readonly Language[] = ['curl', 'JavaScript', 'Python'];

const PEOPLE = {
  grantType: 'authorization_code',
  // Characters that mean something in a shell, in a query and in a program.
  redirectUris: [`https://reports.example/it's/$HOME/back?a=b&c=%20d`],
} as const;

/** In the order in which the documentation of the API has them. */
const APPS: Readonly<Record<string, Partial<ClientFields>>> = {
  'with client credentials': {},
  'on a server': PEOPLE,
  'on a computer': {
    ...PEOPLE,
    redirectUris: ['http://127.0.0.1/callback'],
    confidential: false,
    native: true,
  },
  'on a device': { grantType: 'device_code', confidential: false },
};

const runs = cannotRun === undefined ? test : test.skip;
if (cannotRun !== undefined) test(`SKIPPED: ${cannotRun}`, (t) => t.pass());

async function openAreaWithDevices(t: ExecutionContext): Promise<Area> {
  return openArea(
    t,
    'dora',
    { clients: { privateKeyJwt: true }, features: [devices({ interval: '1 second' })] },
    '/auth',
  );
}

function saysWhoCalls(t: ExecutionContext, printed: string, { grantType, id }: Client): void {
  t.regex(printed, new RegExp(`['"]?client_id['"]?: ?['"]${id}['"]`), printed);
  const type = grantType === 'client_credentials' ? 'client' : 'user';
  t.regex(printed, new RegExp(`['"]?type['"]?: ?['"]${type}['"]`), printed);
  if (type === 'user') t.regex(printed, /['"]?scopes['"]?: ?\[ ?['"]schools:read['"] ?\]/, printed);
}

for (const language of LANGUAGES) {
  for (const [kind, fields] of Object.entries(APPS))
    runs(`an app ${kind}: the lines of its page, copied one by one, call the API: ${language}`, async (t) => {
      const area = await openAreaWithDevices(t);
      const { client, secret } = await area.registerFor('dora', fields);
      const { html } = await area.open(`/${client.id}`);
      saysWhoCalls(t, await runLines(linesIn(html, language), language, ann(area, secret)), client);
    });

  runs(`an app with keys: the lines of its page ask for an assertion: ${language}`, async (t) => {
    const area = await openAreaWithDevices(t);
    const pair = await makeKeyPair();
    const { client } = await area.registerFor('dora', { keys: { jwks: { keys: [pair.publicJwk] } } });
    const { html } = await area.open(`/${client.id}`);
    const { client_assertion: assertion } = await assertionParameters(client.id, area.auth.issuer, pair);
    saysWhoCalls(t, await runLines(linesIn(html, language), language, ann(area, assertion)), client);
  });
}

runs('the line on the page of a new personal access token asks for it, and calls the API', async (t) => {
  const area = await openArea(t, 'dora', { features: [personalTokens()] }, '/auth');
  const form = await area.browser.open(area.url('/account/tokens/new'));
  const fields = { name: 'Import', lifetime: '7', [boxes(form)['schools:read']!]: 'schools:read' };
  const created = await area.browser.submit(form, 'Create a token', fields);
  const [, line = ''] = /<pre [^>]*><code>(printf[^<]*)<\/code>/.exec(created.html) ?? [];
  const shell = spawn('sh', ['-c', line.replaceAll('&#39;', "'").replaceAll('&#34;', '"')]);
  shell.stdin.end(`${valueOf(created, 'token')}\n`);
  const printed = await text(shell.stdout);
  t.regex(printed, /^Token: \{"data":\{"type":"user","id":"dora".*"scopes":\["schools:read"\]/);
});

/** The redirect URI of the documentation. */
const EXAMPLE = 'https://app.example/callback';

runs("the lines of the API's documentation are those of the page of an app of each kind", async (t) => {
  const area = await openAreaWithDevices(t);
  const docs = await new Browser(area.reach).open(area.url('/api/v1/docs'));
  const [, ...kinds] = docs.html.split('<details name="kind">');
  for (const [index, [kind, fields]] of Object.entries(APPS).entries()) {
    const registered = fields.redirectUris ? { ...fields, redirectUris: [EXAMPLE] } : fields;
    const { client } = await area.registerFor('dora', registered);
    const { html } = await area.open(`/${client.id}`);
    for (const language of LANGUAGES) {
      const ofDocs = linesIn(kinds[index]!.replaceAll('YOUR_CLIENT_ID', client.id), language);
      t.deepEqual(ofDocs, linesIn(html, language), `${kind}: ${language}`);
    }
  }
});

test('the lines name the scopes that the app is registered for, or one that users cannot decline', async (t) => {
  const scope = { description: 'See your schools', permissions: [] };
  const area = await openArea(t, 'dora', {
    openid: true,
    features: [devices()],
    scopes: { 'letters:read': { ...scope, optional: true }, 'schools:read': scope, 'schools:write': scope },
    resources: { 'https://library.example/v1': { scopes: { 'books:read': scope } } },
  });
  for (const [scopes, asked] of [
    [undefined, 'schools:read'],
    [['openid', 'schools:write', 'letters:read', 'books:read'], 'schools:write letters:read'],
    [['books:read'], undefined],
    [[], undefined],
  ] as const) {
    const people = await area.registerFor('dora', { ...PEOPLE, scopes });
    const [, address] = linesIn((await area.open(`/${people.client.id}`)).html, 'curl');
    const [, query] = /authorize\?([^']+)'/.exec(address!)!;
    t.is(new URLSearchParams(query).get('scope') ?? undefined, asked);
    const device = await area.registerFor('dora', { ...APPS['on a device'], scopes });
    const [begin] = linesIn((await area.open(`/${device.client.id}`)).html, 'curl');
    t.is(/scope='([^']*)'/.exec(begin!)?.[1], asked);
  }
});

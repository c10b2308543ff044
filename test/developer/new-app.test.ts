import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import type { Page } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { shared } from '../harness/shared.ts';
import { boxes, isChecked, openArea, startArea, valueOf } from './area.ts';
import type { Area } from './area.ts';

const started = shared(async (stack) => {
  const area = stack.use(await startArea('dora', { features: [devices()] }));
  const { api, auth, browser, open, token } = area;
  return { area, api, auth, browser, open, token };
});

/** Sends the form for a new app. */
async function create(fields: Record<string, string>, own?: Area): Promise<Page> {
  const { area } = await started();
  return (own ?? area).browser.submit(await (own ?? area).open('/new'), 'Create app', fields);
}

test('a client-credentials app is created, gets a token with its secret, and is given permissions', async (t) => {
  const { token, api, open, browser } = await started();
  const created = await create({
    name: ' Nightly import ',
    grantType: 'client_credentials',
    place: 'server',
    redirectUris: 'ignored: hidden by the page',
  });
  t.is(created.status, 200);
  t.is(created.heading, 'Nightly import is created');
  t.is(created.response.headers.get('cache-control'), 'no-store');
  t.true(created.text.includes('It is shown only once and cannot be read again.'));
  const [client_id, client_secret] = [valueOf(created, 'client-id'), valueOf(created, 'secret')];
  t.regex(client_secret, /^gatehouse_secret_[\w-]{43}$/);
  t.is(created.html.split(client_secret).length, 2);
  t.true(created.text.includes(`Token URL ${created.url.origin}/oauth/token`));
  t.true(created.text.includes(`client_id='${client_id}'`));
  t.false(created.text.includes('Authorization URL'));
  const { body } = await token({ grant_type: 'client_credentials', client_id, client_secret });
  t.is((await api('/schools', body.access_token)).status, 403);

  const permissions = await open(`/${client_id}/permissions`);
  const box = boxes(permissions);
  t.deepEqual(Object.keys(box), ['reader', 'registrar', 'view_schools', 'edit_schools', 'manage_apps']);
  t.true(permissions.text.includes('registrar View schools, Edit schools'));
  const saved = await browser.submit(permissions, 'Save', {
    [box['registrar']!]: 'registrar',
    [box['manage_apps']!]: 'manage_apps',
  });
  t.is(saved.status, 303);
  const after = await browser.follow(saved);
  t.true(after.text.startsWith('Saved.'));
  t.true(isChecked(after, 'registrar'));
  t.false(isChecked(after, 'reader'));
  t.is((await api('/schools', body.access_token)).status, 200);
});

test('an app for people is created on a server, in a browser or on a device, or for device codes', async (t) => {
  const { auth, browser, open } = await started();
  const web = await create({
    name: 'Web',
    clientUri: 'https://web.example',
    grantType: 'authorization_code',
    place: 'server',
    redirectUris: '\r\n https://a.example/cb \r\n\r\nhttps://b.example/cb\r\nhttps://a.example/cb',
  });
  t.regex(valueOf(web, 'secret'), /^gatehouse_secret_/);
  t.true(web.text.includes('Authorization URL'));
  like(t, await auth.clients.find(valueOf(web, 'client-id')), {
    clientUri: 'https://web.example',
    redirectUris: ['https://a.example/cb', 'https://b.example/cb'],
    confidential: true,
    native: false,
    ownerId: 'dora',
    verified: false,
  });
  const code = { grantType: 'authorization_code', redirectUris: 'https://a.example/cb' };
  // What was filled in before the kind was changed is neither checked nor saved.
  const device = { grantType: 'device_code', place: 'server', redirectUris: 'nonsense', firstParty: 'yes' };
  for (const [name, fields, stored] of [
    ['browser', { ...code, place: 'browser' }, { native: false }],
    ['device', { ...code, place: 'device', redirectUris: 'com.example.app:/cb' }, { native: true }],
    ['CLI', device, { native: false, grantType: 'device_code', redirectUris: [], firstParty: false }],
  ] as const) {
    const answer = await create({ ...fields, name });
    t.is(answer.status, 303);
    const page = await browser.follow(answer);
    t.true(page.text.startsWith('The app is created.'));
    t.false(page.html.includes('/secrets'));
    const id = valueOf(page, 'client-id');
    t.like(await auth.clients.find(id), { ...stored, confidential: false, ownerId: 'dora' });
    if (name !== 'CLI') continue;
    t.regex(page.text, /Kind Device code/);
    t.regex(page.text, /Device authorization URL http:\S+\/oauth\/device_authorization/);
    t.true(page.text.includes('-d grant_type=urn:ietf:params:oauth:grant-type:device_code'));
    t.is((await browser.submit(await open(`/${id}/settings`), 'Save', { name: 'School tool' })).status, 303);
    t.is((await auth.clients.find(id))?.name, 'School tool');
    t.regex((await open(`/${id}/permissions`)).text, /This app acts for the people who sign in to it/);
  }
});

test('without the option, the form has no apps for devices, and a posted one is refused', async (t) => {
  const { open } = await started();
  const deviceChoice = /Device code For a device or command line: people enter a code that it shows\./;
  t.regex((await open('/new')).text, deviceChoice);
  const without = await openArea(t);
  t.notRegex((await without.open('/new')).text, deviceChoice);
  const refused = await create({ name: 'School CLI', grantType: 'device_code' }, without);
  t.is(refused.status, 422);
  t.regex(refused.text, /give the server the feature for device_code first/);
});

test('each error is shown beside its field, and the typed values stay', async (t) => {
  const { browser } = await started();
  const fields = { grantType: 'authorization_code', place: 'browser' };
  const page = await create({
    ...fields,
    name: '',
    redirectUris: 'https://a.example/#x\nhttps://b.example/cb\nnonsense\n</textarea><b>',
  });
  t.is(page.status, 422);
  t.true(page.html.includes('<title>Error: New app · Acme Schools</title>'));
  t.regex(page.html, /role="alert" tabindex="-1" autofocus/);
  t.true(page.html.includes('<a href="#name">Give a name of 1 to 100 characters.</a>'));
  t.true(page.text.includes('Redirect URI 1: It must not have a fragment'));
  t.true(page.text.includes('Redirect URI 3: Give the whole address, such as https://app.example/callback.'));
  t.true(page.text.includes('Redirect URI 4: '));
  t.regex(page.html, /id="name"[^>]* aria-describedby="name-hint name-problem" aria-invalid="true"/);
  t.regex(page.html, /id="redirectUris"[^>]* aria-describedby="redirectUris-hint redirectUris-problem"/);
  t.regex(page.html, /value="browser"[^>]* checked/);
  t.true(page.html.includes('\nhttps://a.example/#x\nhttps://b.example/cb\nnonsense\n&lt;/textarea&gt;'));
  const corrected = { ...fields, name: 'Web', redirectUris: 'https://a.example/cb' };
  const created = await browser.follow(await browser.submit(page, 'Create app', corrected));
  t.true(created.text.startsWith('The app is created.'));

  const missing = await create({ name: 'x'.repeat(101) });
  t.is(missing.status, 422);
  t.true(missing.text.includes('Choose how the app gets its tokens.'));
  t.regex(missing.html, /<fieldset[^>]* aria-describedby="grantType-problem"/);
});

test('reloading the page that shows a secret does not create a second app', async (t) => {
  const { open, browser, auth } = await started();
  const form = await open('/new');
  const fields = { name: 'Reloaded', grantType: 'client_credentials' };
  const answers = await Promise.all([
    browser.submit(form, 'Create app', fields),
    browser.submit(form, 'Create app', fields),
  ]);
  const [created, again] = answers.toSorted((one, other) => one.status - other.status);
  t.deepEqual([created!.status, again!.status], [200, 303]);
  const list = await browser.follow(await browser.submit(form, 'Create app', fields));
  t.true(list.text.startsWith('This form was sent before: the app is created, and listed here.'));
  t.false(list.html.includes(valueOf(created!, 'secret')));
  t.is((await auth.clients.list({ search: 'Reloaded' })).length, 1);
});

test('each error of a redirect URI is shown in the language of the page', async (t) => {
  const german = await openArea(t, 'dora', {
    interactions: pages({ language: 'de', text: { 'login.submit': 'Sign in' } }),
  });
  for (const [place, uri, told] of [
    ['server', `https://a.example/${'x'.repeat(2000)}`, 'Sie ist länger als 2000 Zeichen.'],
    ['server', 'https://a.example/ä', 'Sie enthält Leerzeichen oder Zeichen außerhalb von ASCII.'],
    ['server', '/callback', 'Geben Sie die ganze Adresse ein'],
    ['server', 'https://a.example/#x', 'Sie darf kein Fragment haben'],
    ['server', 'https://*.a.example/', 'Ein Sternchen steht hier für nichts anderes.'],
    ['server', 'https://ann@a.example/', 'Sie darf weder Benutzernamen noch Passwort enthalten.'],
    ['server', 'https:a.example', 'Schreiben Sie sie in der Form https://host/pfad.'],
    ['server', 'com.example.app:/callback', 'Sie muss mit https: oder http: beginnen.'],
    ['device', 'mailto:/callback', 'Verwenden Sie ein eigenes Schema, zum Beispiel com.example.app:/'],
    ['device', 'http://a.example/', 'Auf einem Computer oder Smartphone ist http: für'],
    ['device', 'https://localhost/', 'Verwenden Sie http: für die Adresse des eigenen Computers.'],
  ] as const) {
    const fields = { name: 'Meine', grantType: 'authorization_code', place, redirectUris: uri };
    const page = await german.browser.submit(await german.open('/new'), 'App anlegen', fields);
    t.is(page.status, 422, uri);
    t.true(page.text.includes(`Redirect-URI 1: ${told}`), `${uri}: ${page.text}`);
  }
});

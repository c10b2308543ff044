import test from 'ava';
import { pages } from 'koa-gatehouse/interactions';

import { boxes, isChecked, openArea, valueOf } from './area.ts';

test('a client-credentials app is created, gets a token with its secret, and is given permissions', async (t) => {
  const { api, browser, open, token } = await openArea(t);
  const form = await open('/new');
  t.is(form.heading, 'New app');
  const created = await browser.submit(form, 'Create app', {
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
  t.true(created.text.includes(`-d 'client_id=${client_id}'`));
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

test('an authorization code app is created on a server, in a browser or on a device', async (t) => {
  const { auth, browser, open } = await openArea(t);
  const form = await open('/new');
  const web = await browser.submit(form, 'Create app', {
    name: 'Web',
    grantType: 'authorization_code',
    place: 'server',
    redirectUris: '\r\n https://a.example/cb \r\n\r\nhttps://b.example/cb\r\nhttps://a.example/cb',
  });
  t.regex(valueOf(web, 'secret'), /^gatehouse_secret_/);
  t.true(web.text.includes('Authorization URL'));
  t.like(await auth.clients.find(valueOf(web, 'client-id')), {
    redirectUris: ['https://a.example/cb', 'https://b.example/cb'],
    confidential: true,
    native: false,
    ownerId: 'dora',
  });

  for (const [place, uri, native] of [
    ['browser', 'https://c.example/cb', false],
    ['device', 'com.example.app:/cb', true],
  ] as const) {
    const answer = await browser.submit(await open('/new'), 'Create app', {
      name: place,
      grantType: 'authorization_code',
      place,
      redirectUris: uri,
    });
    t.is(answer.status, 303);
    const page = await browser.follow(answer);
    t.true(page.text.startsWith('The app is created.'));
    t.false(page.html.includes('/secrets'));
    t.like(await auth.clients.find(valueOf(page, 'client-id')), { confidential: false, native });
  }
});

test('each error is shown beside its field, and the typed values stay', async (t) => {
  const { browser, open } = await openArea(t);
  const page = await browser.submit(await open('/new'), 'Create app', {
    name: '',
    grantType: 'authorization_code',
    place: 'browser',
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
  t.true(
    page.html.includes(
      '\nhttps://a.example/#x\nhttps://b.example/cb\nnonsense\n&lt;/textarea&gt;&lt;b&gt;</textarea>',
    ),
  );

  const corrected = await browser.submit(page, 'Create app', {
    name: 'Web',
    grantType: 'authorization_code',
    place: 'browser',
    redirectUris: 'https://a.example/cb',
  });
  t.is(corrected.status, 303);

  const missing = await browser.submit(await open('/new'), 'Create app', { name: 'x'.repeat(101) });
  t.is(missing.status, 422);
  t.true(missing.text.includes('Choose how the app gets its tokens.'));
  t.regex(missing.html, /<fieldset[^>]* aria-describedby="grantType-problem"/);
});

test('what was filled in before the kind was changed is neither checked nor saved', async (t) => {
  const { auth, browser, open } = await openArea(t, 'root', { clients: { devices: true } });
  const hidden = { place: 'browser', redirectUris: 'nonsense', firstParty: 'yes' };
  const fields = { name: 'Import', grantType: 'client_credentials', ...hidden };
  const service = await browser.submit(await open('/new'), 'Create app', fields);
  t.is(service.status, 200);
  const device = await browser.follow(
    await browser.submit(await open('/new'), 'Create app', { ...fields, grantType: 'device_code' }),
  );
  const stored = { redirectUris: [], native: false, firstParty: false };
  t.like(await auth.clients.find(valueOf(service, 'client-id')), { ...stored, confidential: true });
  t.like(await auth.clients.find(valueOf(device, 'client-id')), { ...stored, confidential: false });
});

test('reloading the page that shows a secret does not create a second app', async (t) => {
  const { browser, developer, open } = await openArea(t);
  const form = await open('/new');
  const fields = { name: 'Nightly', grantType: 'client_credentials' };
  const secret = valueOf(await browser.submit(form, 'Create app', fields), 'secret');
  const again = await browser.submit(form, 'Create app', fields);
  t.is(again.status, 303);
  const list = await browser.follow(again);
  t.true(list.text.startsWith('This form was sent before: the app is created, and listed here.'));
  t.false(list.html.includes(secret));
  t.is((await (await developer('dora')).list()).length, 1);

  const both = await open('/new');
  const answers = await Promise.all([
    browser.submit(both, 'Create app', fields),
    browser.submit(both, 'Create app', fields),
  ]);
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 303]));
  t.is((await (await developer('dora')).list()).length, 2);
});

test('each error of a redirect URI is shown in the language of the page', async (t) => {
  const { browser, open } = await openArea(t, 'dora', {
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
    [
      'device',
      'mailto:/callback',
      'Verwenden Sie ein eigenes Schema, zum Beispiel com.example.app:/callback.',
    ],
    ['device', 'http://a.example/', 'Auf einem Computer oder Smartphone ist http: für'],
    ['device', 'https://localhost/', 'Verwenden Sie http: für die Adresse des eigenen Computers.'],
  ] as const) {
    const page = await browser.submit(await open('/new'), 'App anlegen', {
      name: 'Meine',
      grantType: 'authorization_code',
      place,
      redirectUris: uri,
    });
    t.is(page.status, 422, uri);
    t.true(page.text.includes(`Redirect-URI 1: ${told}`), `${uri}: ${page.text}`);
  }
});

test('an app for devices is created without a secret, where the server authorizes devices', async (t) => {
  const { auth, browser, open } = await openArea(t, 'dora', { clients: { devices: true } });
  const form = await open('/new');
  t.regex(form.text, /Device code For a device or command line: people enter a code that it shows\./);
  const created = await browser.follow(
    await browser.submit(form, 'Create app', {
      name: 'School CLI',
      grantType: 'device_code',
      place: 'server',
      redirectUris: 'ignored: hidden by the page',
    }),
  );
  t.true(created.text.startsWith('The app is created.'));
  t.regex(created.text, /Kind Device code/);
  t.regex(created.text, /Device authorization URL http:\S+\/oauth\/device_authorization/);
  t.true(created.text.includes("-d 'grant_type=urn:ietf:params:oauth:grant-type:device_code'"));
  const id = valueOf(created, 'client-id');
  t.like(await auth.clients.find(id), {
    grantType: 'device_code',
    confidential: false,
    redirectUris: [],
    ownerId: 'dora',
  });
  const saved = await browser.submit(created, 'Save', { name: 'School tool' });
  t.is(saved.status, 303);
  t.is((await auth.clients.find(id))?.name, 'School tool');
  const permissions = await open(`/${id}/permissions`);
  t.regex(permissions.text, /This app acts for the people who sign in to it/);
});

test('without the option, the form has no apps for devices, and a posted one is refused', async (t) => {
  const { browser, open } = await openArea(t);
  const form = await open('/new');
  t.false(form.text.includes('Device code'));
  const refused = await browser.submit(form, 'Create app', { name: 'School CLI', grantType: 'device_code' });
  t.is(refused.status, 422);
  t.regex(refused.text, /set the option clients.devices of the server first/);
});

import { createHash } from 'node:crypto';

import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { beginOn, enter } from '../devices/device.ts';
import type { Browser, Page } from '../harness/browser.ts';
import { jpeg, png } from '../harness/pictures.ts';
import { authorizeUrl, runCodeFlow } from '../harness/platform.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { untilIdle } from '../harness/requests-in-progress.ts';
import { openArea, REPORTS, valueOf } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';

const HOST = 'www.xn--bcher-kva.example';
const HOMEPAGE = `https://${HOST}/about?lang=de`;

/** Posts the form of a logo of the app with this URL. */
async function upload(browser: Browser, app: URL, file: Blob | string, name = 'logo'): Promise<Page> {
  return browser.post(new URL(`${app.href}/logo`), fileForm(file, name));
}

function fileForm(file: Blob | string, name = 'logo'): FormData {
  const form = new FormData();
  if (typeof file === 'string') form.append(name, file);
  else form.append(name, file, 'logo.png');
  return form;
}

const blob = (bytes: Buffer): Blob => new Blob([new Uint8Array(bytes)], { type: 'image/png' });

/** The URLs of the pictures of apps on a page. */
function logosOn({ html, url }: Page): readonly URL[] {
  return [...html.matchAll(/<img[^>]* src="([^"]*\/oauth\/logos\/[^"]*)" alt=""/g)].map(
    ([, path]) => new URL(path!, url),
  );
}

test('a developer uploads a logo, which this server serves by its hash, and removes it', async (t) => {
  const { auth, browser, reach, registerFor, url } = await openArea(t, 'dora', {}, '/platform');
  const { client } = await registerFor('dora', REPORTS);
  const app = url(`/developer/apps/${client.id}`);
  const settings = new URL(`${app.href}/settings`);
  const picture = png();
  t.deepEqual(logosOn(await browser.open(settings)), []);
  const page = await browser.follow(await upload(browser, app, blob(picture)));
  t.true(page.text.startsWith('Saved.'));
  const [logo] = logosOn(page);
  const hash = createHash('sha256').update(picture).digest('base64url');
  t.is(logo?.href, url(`/oauth/logos/${client.id}/${hash}`).href);
  t.is((await auth.clients.find(client.id))?.logoHash, hash);

  const served = await fetch(reach(logo!));
  t.is(served.status, 200);
  t.deepEqual(Buffer.from(await served.arrayBuffer()), picture);
  t.like(Object.fromEntries(served.headers), {
    'content-type': 'image/png',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'public, max-age=31536000, immutable',
  });
  // The type is that of the content, whatever the browser has sent. Names of media types are case-insensitive (RFC 9110 section 8.3.1).
  const posted = new Response(fileForm(blob(jpeg())));
  const type = posted.headers.get('content-type')!.replace('multipart/form-data', 'Multipart/Form-Data');
  const body = new Uint8Array(await posted.arrayBuffer());
  await browser.post(new URL(`${app.href}/logo`), body, { 'content-type': type });
  t.is((await fetch(reach(logo!))).status, 404, 'the one before');
  const [second] = logosOn(await browser.open(settings));
  t.is((await fetch(reach(second!))).headers.get('content-type'), 'image/jpeg');

  const removed = await browser.post(new URL(`${app.href}/logo/remove`), new URLSearchParams());
  t.deepEqual(logosOn(await browser.follow(removed)), []);
  t.is((await fetch(reach(second!))).status, 404);
  // The URLs of posted forms can be opened again.
  for (const path of ['/logo', '/logo/remove'])
    t.is((await browser.get(new URL(app.href + path))).location?.href, settings.href);
});

test('a file for which there is no memory at the moment is refused with a page, and no error in the log', async (t) => {
  const { auth, browser, logger, origin, registerFor, url } = await openArea(t, 'dora', {
    limits: { maxTotalBodyBytes: 256 * 1024 },
  });
  const { client } = await registerFor('dora', REPORTS);
  const { pathname } = url(`/developer/apps/${client.id}/logo`);
  const posted = new Response(fileForm(blob(Buffer.alloc(200 * 1024))));
  const bytes = new Uint8Array(await posted.arrayBuffer());
  const headers = {
    'Content-Type': posted.headers.get('content-type')!,
    'Content-Length': String(bytes.length + 1),
    Cookie: browser.cookieField,
    Origin: origin,
  };
  for (let round = 0; round < 2; round += 1) {
    const connections = await Promise.all([1, 2, 3].map(async () => RawConnection.open(origin)));
    for (const connection of connections) connection.post(pathname, bytes, headers);
    const answers = connections.map(async (connection) => connection.answer());
    const refused = await Promise.race(answers);
    t.is(refused.status, 503);
    t.is(refused.headers.get('retry-after'), '1');
    t.true(refused.body.includes('<h1>That form could not be read</h1>'), refused.body);
    await untilIdle({ auth }, 1);
    for (const connection of connections) connection.write('\n');
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    t.deepEqual(
      statuses.toSorted((one, other) => one - other),
      [422, 503, 503],
      'the one that had memory is too large for a logo',
    );
  }
  t.deepEqual(
    logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

/**
 * A JPEG that browsers show as the first picture: they skip TEM, which has no length. With one, what follows is the length of a segment
 * behind which the frame header of the other is.
 */
function withTwoFrames(shown: Buffer, other: Buffer): Buffer {
  const picture = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0x01]), shown.subarray(2)]);
  const bytes = Buffer.alloc(4 + picture.readUInt16BE(4) + other.length);
  bytes.set(picture);
  bytes.set(other.subarray(2), 4 + picture.readUInt16BE(4));
  return bytes;
}

test('another file is refused with what is wrong, and changes nothing', async (t) => {
  const { auth, browser, registerFor, url } = await openArea(t);
  const { client } = await registerFor('dora', REPORTS);
  const app = url(`/developer/apps/${client.id}`);
  const wrongType = 'Choose a PNG or JPEG file of at most 1024 pixels in width and height.';
  for (const [file, problem] of [
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), wrongType],
    [Buffer.alloc(0), wrongType],
    [png({ width: 1025 }), wrongType],
    [withTwoFrames(jpeg({ width: 1025 }), jpeg()), wrongType],
    [Buffer.concat([png(), Buffer.alloc(65_536)]), 'Choose a file of at most 65536 bytes.'],
  ] as const) {
    const page = await upload(browser, app, blob(file));
    t.is(page.status, 422);
    t.true(page.text.includes(problem), page.text);
    t.regex(page.html, /id="logo"[^>]*aria-invalid="true"/);
  }
  const post = async (body: URLSearchParams, headers?: Record<string, string>): Promise<Page> =>
    browser.post(new URL(`${app.href}/logo`), body, headers);
  const text = new URLSearchParams({ logo: 'x' });
  const two = fileForm(blob(png()));
  two.append('logo', blob(png()), 'second.png');
  for (const [answered, status, message] of [
    [upload(browser, app, blob(Buffer.alloc(300_000))), 413, 'The form is larger than 262144 bytes.'],
    [upload(browser, app, 'text'), 400, 'Send one file in the field logo.'],
    [upload(browser, app, blob(png()), 'other'), 400, 'Send one file in the field logo.'],
    [browser.post(new URL(`${app.href}/logo`), two), 400, 'Send one file in the field logo.'],
    [post(text), 415, 'Send the form as multipart/form-data.'],
    [post(text, { 'content-type': 'multipart/form-data; boundary=x' }), 400, 'The form is malformed.'],
  ] as const) {
    const page = await answered;
    t.is(page.status, status, page.text);
    t.true(page.text.includes(message), page.text);
  }
  const others = await registerFor('emil', REPORTS);
  t.is((await upload(browser, url(`/developer/apps/${others.client.id}`), blob(png()))).status, 404);
  t.deepEqual(await auth.clients.find(client.id), client);
  t.deepEqual(await auth.clients.find(others.client.id), others.client);
});

test('only an administrator verifies an app and changes what users see of a first-party app', async (t) => {
  const { auth, browser, developer, registerFor, signInAs, url } = await openArea(t);
  const { client } = await registerFor('dora', { ...REPORTS, clientUri: HOMEPAGE });
  const app = url(`/developer/apps/${client.id}`);
  const settings = new URL(`${app.href}/settings`);
  const overview = await browser.open(app);
  t.true(
    overview.text.includes('Verified No. People see the host of the homepage as not verified, and no logo.'),
  );
  const own = await browser.open(settings);
  t.false(own.html.includes('name="verified"'));
  t.is((await browser.submit(own, 'Save', { ...formOf(own), verified: 'yes' })).status, 422);
  t.like(await auth.clients.find(client.id), { clientUri: HOMEPAGE, verified: false });

  const roots = await signInAs('root');
  const page = await roots.open(settings);
  t.is((await roots.submit(page, 'Save', { ...formOf(page), verified: 'yes' })).status, 303);
  t.true((await auth.clients.find(client.id))?.verified);
  t.true((await browser.open(app)).text.includes('Verified Yes. A change of the name, the homepage'));

  const dora = await developer('dora');
  const root = await developer('root');
  // Also not by a change that has the mark, as a copy of the app has.
  t.false((await dora.update(client.id, { name: 'Bank', verified: true })).verified);
  t.true((await root.update(client.id, { name: 'Reports', verified: true })).verified);
  t.false((await dora.setLogo(client.id, png())).verified);
  const emil = await developer('emil');
  await t.throwsAsync(emil.setLogo(client.id, undefined), { code: 'ERR_CLIENT_NOT_FOUND' });

  // A form without the field, such as one of the host's own view, leaves the homepage.
  const { clientUri: _, ...without } = formOf(await browser.open(settings));
  await browser.submit(await browser.open(settings), 'Save', without);
  t.is((await auth.clients.find(client.id))?.clientUri, HOMEPAGE);
  await browser.submit(await browser.open(settings), 'Save', { ...without, clientUri: ' ' });
  t.is((await auth.clients.find(client.id))?.clientUri, undefined);
  const wrong = await browser.submit(await browser.open(settings), 'Save', { ...without, clientUri: 'x' });
  t.is(wrong.status, 422);
  t.true(wrong.text.includes('Give the homepage as https://host/path of at most 2000 characters'));

  const marked = await root.update(client.id, { firstParty: true });
  t.is((await upload(browser, app, blob(jpeg()))).status, 422);
  await t.throwsAsync(dora.setLogo(client.id, undefined), {
    code: 'ERR_CLIENT_INVALID',
    message: 'logo: only an administrator can change this of a first-party client',
  });
  t.deepEqual(await auth.clients.find(client.id), marked);
  t.is((await root.setLogo(client.id, undefined)).logoHash, undefined);
});

function formOf(page: Page): Record<string, string> {
  return {
    name: valueOf(page, 'name'),
    clientUri: valueOf(page, 'clientUri'),
    redirectUris: REPORTS.redirectUris[0],
  };
}

test('users see the host of a homepage as not verified, and a verified one with its logo', async (t) => {
  const platform = await openDeveloperPlatform(t, {
    features: [devices()],
    interactions: pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] }),
  });
  const { auth, registerFor, signInAs, url } = platform;
  const fields = { name: 'Reports', clientUri: HOMEPAGE };
  const ofPeople = await registerFor('dora', { ...REPORTS, ...fields });
  const device = { grantType: 'device_code', redirectUris: [], confidential: false } as const;
  const ofDevice = await registerFor('dora', { ...fields, ...device });
  const connected = await registerFor('dora', { ...REPORTS, ...fields });
  const browser = await signInAs('ann');
  await runCodeFlow(platform, connected, { browser });
  const ids = [ofPeople, ofDevice, connected].map(({ client }) => client.id);
  for (const id of ids) await auth.clients.setLogo(id, png());
  /** The pages on which users see an app: consent, the request of a device, and their connected apps. */
  const seen = async (): Promise<readonly Page[]> => {
    const consent = await browser.open(authorizeUrl(platform, ofPeople));
    t.is(consent.heading, 'Authorize Reports');
    const { user_code: code } = await beginOn(platform, ofDevice);
    const request = await enter(platform, browser, code);
    t.is(request.heading, 'Connect Reports on a device?');
    return [consent, request, await browser.open(url('/account/apps'))];
  };

  for (const page of await seen()) {
    t.true(page.text.includes(`${HOST} Homepage not verified by Acme Schools`), page.text);
    t.deepEqual(logosOn(page), []);
    t.false(page.html.includes(`href="${HOMEPAGE}`));
  }
  for (const id of ids) await auth.clients.update(id, { verified: true });
  for (const [index, page] of (await seen()).entries()) {
    t.true(page.text.includes(`${HOST} Verified by Acme Schools`), page.text);
    t.true(page.html.includes(`<a href="${HOMEPAGE}" target="_blank" rel="noopener noreferrer">`));
    const [logo, ...more] = logosOn(page);
    t.is(logo?.origin, platform.origin);
    t.is(logo?.pathname.split('/')[3], ids[index]);
    t.is(more.length, 0);
    // Nothing is loaded from another server.
    t.regex(page.response.headers.get('content-security-policy')!, /(?:^|; )img-src 'self'(?:;|$)/);
  }
  const german = authorizeUrl(platform, connected, { prompt: 'consent', ui_locales: 'de' });
  t.true((await browser.open(german)).text.includes(`${HOST} Von Acme Schools geprüft`));

  // Of an app without a homepage nothing is said, unless it is verified.
  for (const verified of [false, true]) {
    for (const id of ids) await auth.clients.update(id, { clientUri: undefined, verified });
    for (const page of await seen()) {
      t.is(page.text.includes('Verified by'), verified, page.text);
      t.false(page.text.includes('not verified by'), page.text);
    }
  }
});

import { get } from 'node:http';

import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { requestClientToken } from '../harness/tokens.ts';

/** The fields of the last line with a message. */
function lastLine({ logger }: Platform, message: string): Record<string, unknown> {
  return (logger.lines.findLast((line) => line.message === message)?.fields ?? {}) as Record<string, unknown>;
}

test.serial(
  'an expired secret is named in the log and the activity, and to a stranger it is as wrong as any other',
  async (t) => {
    await using platform = await startPlatform();
    const { auth } = platform;
    const service = await platform.registerService();
    const expiring = await auth.clients.addSecret(service.client.id, {
      label: 'May',
      expiresAt: Math.floor(Date.now() / 1000) + 1,
    });
    passTime(2);
    const ask = async (secret: string): ReturnType<typeof requestClientToken> =>
      requestClientToken(platform, { ...service, secret });
    const [expired, wrong] = [await ask(expiring.value), await ask('wrong')];
    t.deepEqual([expired.status, expired.body], [wrong.status, wrong.body]);
    await ask(expiring.value);
    const said = new RegExp(
      `^the secret "May" that ends in ${expiring.hint} expired at 20\\d\\d-.*Z; add another one$`,
    );
    t.regex(String(lastLine(platform, 'token refused')['reason']), said);
    const events = await auth.audit.list({ types: ['token_refused'] });
    t.regex((events[0] as { reason: string }).reason, said);
    t.is((events[1] as { reason: string }).reason, 'invalid secret provided');
    t.false(JSON.stringify([events, platform.logger.lines]).includes(expiring.value));
    t.is((await ask(service.secret)).status, 200, 'and the other secret works');
  },
);

test('the address that was sent as redirect_uri is in the log and the activity, without what it may carry', async (t) => {
  await using platform = await startPlatform();
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await browser.open(
    authorizeUrl(platform, app, { redirect_uri: 'https://ada:secret@reports.example/callbak?code=secret#x' }),
  );
  t.is(page.status, 400);
  const line = lastLine(platform, 'authorization refused');
  t.is(
    line['reason'],
    "redirect_uri did not match any of the client's registered redirect_uris; the client sent https://reports.example/callbak",
  );
  t.true(page.text.includes(String(line['request_id'])), 'and the page names the line');
  const [event] = await platform.auth.audit.list({ types: ['authorization_refused'] });
  t.like(event, { reason: line['reason'] });
  await browser.open(
    authorizeUrl(platform, app, { redirect_uri: `https://reports.example/${'a'.repeat(500)}` }),
  );
  t.true(String(lastLine(platform, 'authorization refused')['reason']).length < 255);
});

test('a page that is refused has a line in the log, which it names, with the origin that the browser is at', async (t) => {
  await using platform = await startPlatform();
  const { port } = new URL(platform.origin);
  const issuer = platform.origin;
  const post = async (origin: string): Promise<{ status: number; html: string }> => {
    const response = await fetch(platform.url('/oauth/login'), {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'login=ada',
    });
    return { status: response.status, html: await response.text() };
  };
  for (const [origin, remedy] of [
    [
      `http://localhost:${port}`,
      /browsers take localhost and 127\.0\.0\.1 for different sites\. Open the pages at the issuer/,
    ],
    [
      'https://evil.example',
      /the issuer is at http.*: open the pages at the issuer, or set issuer to where they are\.$/,
    ],
  ] as const) {
    const { html, status } = await post(origin);
    t.is(status, 403);
    const line = lastLine(platform, 'page refused');
    t.like(line, { outcome: 'refused', error: 'ERR_CROSS_SITE', status: 403 });
    t.regex(String(line['reason']), remedy);
    t.true(String(line['reason']).includes(`is for ${origin}, and the issuer is at ${issuer}`));
    t.true(html.includes(String(line['request_id'])));
  }

  await using secure = await startPlatform({ issuer: 'https://platform.example' });
  const insecure = await fetch(`${secure.origin}/oauth/login`, {
    method: 'POST',
    headers: { origin: 'http://platform.example', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'login=ada',
  });
  t.is(insecure.status, 403);
  t.regex(
    String(lastLine(secure, 'page refused')['reason']),
    /open the pages by https\. If they are, the proxy in front hides it: let it send X-Forwarded-Proto, and set trustProxy/,
  );
});

test('the first page that comes to another origin than the issuer is warned of, once', async (t) => {
  await using platform = await startPlatform();
  await runCodeFlow(platform, await platform.registerApp());
  await openAt(platform, { host: 'internal:3000' });
  t.deepEqual(warnings(platform), []);
  for (let visit = 0; visit < 2; visit += 1) await openAt(platform, { host: 'localhost:3000' });
  t.is(warnings(platform).length, 1);
  t.regex(
    warnings(platform)[0]!,
    /^The request is for http:\/\/localhost:3000, and the issuer is at .* for different sites\. Open the pages at the issuer/,
  );

  const issuer = 'https://platform.example';
  const host = 'platform.example';
  const [modern, upgrade] = [{ 'sec-fetch-mode': 'navigate' }, { 'upgrade-insecure-requests': '1' }];
  for (const [headers, isWarned] of [
    [{ host, ...modern, ...upgrade }, false],
    [{ host: 'internal:3000' }, false],
    [{ host, ...upgrade }, true],
    [{ host, ...modern, 'x-forwarded-proto': 'https' }, true],
  ] as const) {
    await using secure = await startPlatform({ issuer });
    await openAt(secure, headers);
    t.deepEqual(
      warnings(secure).map((said) => said.includes('open the pages by https.')),
      isWarned ? [true] : [],
      JSON.stringify(headers),
    );
  }
});

function warnings({ logger }: Platform): readonly string[] {
  return logger.lines
    .filter(({ level }) => level === 'warn')
    .map(({ fields }) => String(Reflect.get(fields, 'reason')));
}

/** Opens the login page with header fields that `fetch` does not send. */
async function openAt({ origin }: Platform, headers: Record<string, string>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  get(`${origin}/oauth/login`, { headers }, (response) => response.resume().on('end', resolve));
  await promise;
}

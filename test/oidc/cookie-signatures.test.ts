import { randomBytes } from 'node:crypto';

import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { cookieSignature } from './cookie-signature.ts';

const storage = memoryStorage();
const [older, newer] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')] as [string, string];

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage, secrets: { cookieKeys: [older] } }));
  const app = await platform.registerApp();
  await authorize(platform, app, { browser });
  const session = valueOf(nameOn(platform));
  const signature = valueOf(`${nameOn(platform)}.sig`);
  return { platform, app, session, signature };
});

const browser = new Browser();

const nameOn = ({ origin }: Platform): string => `gatehouse_session_${new URL(origin).port}`;

function valueOf(name: string): string {
  return browser.cookies.find((cookie) => cookie.name === name)!.value;
}

/** Whether a server accepts the session cookie, and the signature that it sets. */
async function ask(
  server: Platform,
  own: RegisteredApp,
  presented: string | undefined,
): Promise<{ signedIn: boolean; given: string | undefined }> {
  const { session } = await started();
  const name = nameOn(server);
  const cookies = [`${name}=${session}`, ...(presented === undefined ? [] : [`${name}.sig=${presented}`])];
  const { status, headers } = await send(authorizeUrl(server, own), {
    headers: { cookie: cookies.join('; ') },
    redirect: 'manual',
  });
  const given = headers
    .getSetCookie()
    .map((line) => /^(\w+\.sig)=([^;]+)/.exec(line))
    .find((parts) => parts?.[1] === `${name}.sig`)?.[2];
  return { signedIn: status === 303 && headers.get('location')!.startsWith(own.redirectUri), given };
}

test('the session cookie is signed by HMAC-SHA256 with a key of the first secret', async (t) => {
  const { signature, platform, session, app } = await started();
  t.is(signature, cookieSignature(older, `${nameOn(platform)}=${session}`));
  t.true((await ask(platform, app, signature)).signedIn);
});

test('a session cookie with a wrong signature is ignored', async (t) => {
  const { signature, platform, session, app } = await started();
  for (const [kind, presented] of Object.entries({
    none: undefined,
    empty: '',
    'one character changed': (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1),
    'one character less': signature.slice(0, -1),
    'of another key': cookieSignature(newer, `${nameOn(platform)}=${session}`),
    'of another cookie': cookieSignature(older, `other=${session}`),
    'no ASCII': '%C3%A4'.repeat(9),
  }))
    t.false((await ask(platform, app, presented)).signedIn, kind);
});

test('a session cookie with the signature of an older key is accepted, and signed with the newest', async (t) => {
  const { session } = await started();
  await using rotated = await startPlatform({ storage, secrets: { cookieKeys: [newer, older] } });
  const own = await rotated.registerApp({ firstParty: true });
  const signed = `${nameOn(rotated)}=${session}`;
  t.deepEqual(await ask(rotated, own, cookieSignature(older, signed)), {
    signedIn: true,
    given: cookieSignature(newer, signed),
  });
  t.true((await ask(rotated, own, cookieSignature(newer, signed))).signedIn);
  t.false((await ask(rotated, own, cookieSignature('neither', signed))).signedIn);
});

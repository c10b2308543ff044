import test from '../../harness/test.ts';
import fc from 'fast-check';

import { Browser } from '../../harness/browser.ts';
import { basic, postForm, send } from '../../harness/requests.ts';
import { SEED } from '../../harness/seed.ts';
import { authorize, authorizeUrl, signedIn } from '../../harness/platform.ts';
import { asClient } from '../../harness/tokens.ts';
import { shared } from '../../harness/shared.ts';
import { brokenHttp } from '../../security/sweep/broken-http.ts';
import type { BrokenHttp } from '../../security/sweep/broken-http.ts';
import { sweptRequests } from '../../security/sweep/edits.ts';
import type { SweptRequest } from '../../security/sweep/edits.ts';
import { goodRequests, PKCE } from '../../security/sweep/good-requests.ts';
import type { Credentials } from '../../security/sweep/good-requests.ts';
import { harmIn, harmInBytes } from '../../security/sweep/harmless.ts';
import { createSender } from '../../security/sweep/send.ts';
import { startSweptServer } from '../../security/sweep/swept-server.ts';

const REQUESTS = 20_000;
const MIB = 2 ** 20;

const started = shared(async (stack) => {
  const server = stack.use(await startSweptServer());
  const { known } = server;
  const { app, origin, service } = known;
  /** The server in its process, as the harness asks it. */
  const running = runningAt(origin);
  return { server, known, app, origin, service, running };
});

const signInDora = async (): Promise<Browser> => {
  const { running } = await started();
  return signedIn(running, 'dora@school.example', 'password of dora');
};

function runningAt(origin: string): { url(path: string): URL; reach(url: URL): URL } {
  return { url: (path) => new URL(path, origin), reach: (url) => url };
}

async function newCode(browser: Browser, parameters: Record<string, string> = {}): Promise<string> {
  const { running, app } = await started();
  return (await authorize(running, app, { browser, parameters })).get('code')!;
}

async function token(fields: Record<string, string>): Promise<Record<string, string>> {
  const { origin, app } = await started();
  const { status, body, text } = await postForm(
    `${origin}/oauth/token`,
    fields,
    basic(app.client.id, app.secret),
  );
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body as Record<string, string>;
}

/** A complete code flow, which works before and after the sweep. */
async function connect(browser: Browser): Promise<Record<string, string>> {
  const { app } = await started();
  const code = await newCode(browser);
  return token({ grant_type: 'authorization_code', code, redirect_uri: app.redirectUri });
}

async function prepareCredentials(): Promise<Credentials> {
  const { running, app } = await started();
  const [browser, leaving, asked] = [await signInDora(), await signInDora(), await signInDora()];
  const signedOut = new Browser();
  const tokens = await connect(browser);
  const login = await signedOut.open(authorizeUrl(running, app));
  const consent = await asked.open(authorizeUrl(running, app, { prompt: 'consent' }));
  return {
    cookies: {
      signedIn: browser.cookieField,
      leaving: leaving.cookieField,
      login: signedOut.cookieField,
      consent: asked.cookieField,
    },
    pages: { login: login.url.pathname, consent: consent.url.pathname },
    accessToken: tokens['access_token']!,
    refreshToken: (await connect(browser))['refresh_token']!,
    code: await newCode(browser, PKCE.parameters),
  };
}

test('20,000 malformed requests get correct errors, without faults, leaks of memory or lasting effects', async (t) => {
  const { origin, known, server, service } = await started();
  t.timeout(180_000);
  await using sender = createSender(origin);
  const credentials = await prepareCredentials();
  const requests = sweptRequests(goodRequests(known, credentials));
  const atOnce = fc.array(
    fc.oneof({ weight: 6, arbitrary: requests }, { weight: 1, arbitrary: brokenHttp(requests) }),
    { minLength: 1, maxLength: 40, size: 'max' },
  );
  const statuses = new Map<number, number>();
  const total = { sent: 0 };

  async function harmOf(one: SweptRequest | BrokenHttp): Promise<string | undefined> {
    total.sent += 1;
    if ('bytes' in one) return harmInBytes(await sender.bytes(one));
    const answer = await sender.request(one);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    return harmIn(answer, one, origin);
  }

  /** Sends at least `count` requests, up to 40 at the same time. */
  async function sweep(count: number, firstSeed: number): Promise<void> {
    const enough = total.sent + count;
    for (let seed = firstSeed; total.sent < enough; seed += 1) {
      await fc.assert(
        fc.asyncProperty(atOnce, async (all) => {
          const harms = await Promise.all(all.map(harmOf));
          const index = harms.findIndex((harm) => harm !== undefined);
          if (index !== -1) throw new Error(`${harms[index]}, to ${JSON.stringify(all[index])}`);
        }),
        { seed, numRuns: 50, includeErrorInReport: true },
      );
    }
  }

  await sweep(REQUESTS / 10, SEED);
  const warm = await server.measure();
  await sweep(REQUESTS / 2, SEED + 1000);
  const half = await server.measure();
  await sweep(REQUESTS - total.sent, SEED + 2000);
  const end = await server.measure();
  const { user, system } = process.threadCpuUsage();
  t.log(
    `${total.sent} requests; ${end.cpu.toFixed(1)} s of CPU for the server, ${((user + system) / 1e6).toFixed(1)} s here`,
  );
  t.log(
    Array.from(statuses, ([status, count]) => `${status}: ${count}`)
      .toSorted()
      .join(', '),
  );
  t.log([warm, half, end].map(({ used, rss }) => `${inMib(used)} in use, RSS ${inMib(rss)}`).join('; '));

  t.deepEqual(end.faults, [], `SEED=${SEED}`);
  t.true(end.used - half.used < 6 * MIB && end.used - warm.used < 8 * MIB, 'the memory in use does not grow');
  t.true(end.rss - half.rss < 24 * MIB, 'nor does the resident memory');
  // Each of these statuses came: the requests got past the first checks.
  for (const status of [200, 204, 303, 400, 401, 403, 404, 405, 409, 413, 415, 422, 501]) {
    t.true(statuses.has(status), String(status));
  }

  const page = await send(`${origin}/developer/apps`, { headers: { cookie: credentials.cookies.signedIn } });
  t.is(page.status, 200, 'the session still exists');
  const tokens = await connect(await signInDora());
  for (const one of [credentials.accessToken, tokens['access_token']!]) {
    const headers = { authorization: `Bearer ${one}` };
    t.is((await send(`${origin}/api/v1/identity`, { headers })).status, 200);
  }
  await token({ grant_type: 'refresh_token', refresh_token: tokens['refresh_token']! });
  const asService = { grant_type: 'client_credentials', ...asClient(service) };
  t.is((await postForm(`${origin}/oauth/token`, asService)).status, 200);
});

function inMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

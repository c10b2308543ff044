import { createHash } from 'node:crypto';

import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../../adapters/contents.ts';
import { onEachDatabase } from '../../adapters/databases.ts';
import { Browser } from '../../harness/browser.ts';
import { authorize, runCodeFlow, startPlatform } from '../../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../../harness/platform.ts';
import { postJson } from '../../harness/requests.ts';
import { around } from '../../harness/storage.ts';
import { asClient, exchangeRefreshToken, REFUSED_GRANT } from '../../harness/tokens.ts';
import { startProcess, stopAt } from '../../oidc/nodes.ts';

// In seconds. Long enough for a retry on a slow machine.
const TOKENS = { refreshGrace: 60 };

type Tokens = TokenAnswer['body'];

/** A token request, and its code or refresh token. */
interface Request {
  readonly app: RegisteredApp;
  readonly credential: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The state after a node was killed during a request. */
interface Outcome extends Request {
  readonly t: ExecutionContext;
  /** The response, if the node was killed after it was sent. */
  readonly answer: Tokens | undefined;
  /** Whether the credential is marked as used in the database, and how many unused refresh tokens its family has. */
  readonly state: () => Promise<{ readonly isUsed: boolean; readonly unused: number }>;
  /** A node that is not killed. */
  readonly platform: Platform;
  /** A node that is started afterwards. */
  readonly next: Platform;
  /** The call at which the node was killed, for messages. */
  readonly where: string;
}

/** Sends a request. Rejects without a response with tokens. */
async function ask(origin: string, fields: Request['fields'], headers = {}): Promise<Tokens> {
  const { status, body } = await postJson(`${origin}/oauth/token`, fields, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as unknown as Tokens;
}

/**
 * Stops token requests on a node before and after each call of its storage, one request for each place, and then kills the
 * node. The requests are of different families, so one process serves for all of them.
 */
function afterEachKill(
  title: string,
  prepare: (platform: Platform, app: RegisteredApp, browser: Browser) => Promise<Request>,
  verify: (outcome: Outcome) => Promise<void>,
): void {
  onEachDatabase(title, async (t, database, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address), tokens: TOKENS });
    const issuer = platform.origin;
    const browser = new Browser();
    // Each of a new app, because the first request of an app also records the use of its secret.
    const make = async (): Promise<Request> =>
      prepare(platform, await platform.registerApp({ firstParty: true }), browser);
    const calls = await callsOf(address, issuer, await make());
    // After a call means before the next one.
    const stops = [
      ...calls.map((name, index) => ({ when: 'before' as const, call: index + 1, where: `before ${name}` })),
      { when: 'after' as const, call: calls.length, where: `after ${calls.at(-1)}` },
    ];
    const requests: Request[] = [];
    while (requests.length < stops.length) requests.push(await make());

    const killed = startProcess();
    const kill = { stopped: stops.length };
    const node = await killed.open({ address, issuer, kill, tokens: TOKENS });
    const answers = await Promise.all(
      requests.map(async ({ fields }, index) =>
        ask(node.origin, fields, stopAt(stops[index]!)).catch(() => undefined),
      ),
    );
    t.is(await killed.end, 'SIGKILL');

    const seen = new Set<boolean>();
    await using next = await startPlatform({ storage: knexStorage(address), issuer, tokens: TOKENS });
    for (const [index, request] of requests.entries()) {
      const id = createHash('sha256').update(request.credential).digest('base64url');
      const state: Outcome['state'] = async () => {
        const rows = (await contentsOf(database, address)).get('gatehouse_credentials') ?? [];
        const presented = rows.find((row) => row['id'] === id);
        const family = rows.filter((row) => row['grant_id'] === presented?.['grant_id']);
        const unused = family.filter((row) => row['consumed_at'] === null && row['kind'] === 'refresh_token');
        return { isUsed: presented?.['consumed_at'] !== null, unused: unused.length };
      };
      seen.add((await state()).isUsed);
      const { where } = stops[index]!;
      await verify({ ...request, t, answer: answers[index], state, platform, next, where });
    }
    t.is(seen.size, 2, 'some were stopped before the credential was marked as used, and some afterwards');
    t.log(`survived ${stops.length} of ${stops.length} kills, around ${calls.join(', ')}`);
  });
}

/** The calls of the storage for a token request on a new node. */
async function callsOf(address: string, issuer: string, { fields }: Request): Promise<readonly string[]> {
  const calls: string[] = [];
  const storage = around(knexStorage(address), async (name, call) => {
    if (name !== 'confirm') calls.push(name);
    return call();
  });
  await using node = await startPlatform({ storage, issuer, tokens: TOKENS });
  calls.length = 0;
  await ask(node.origin, fields);
  return [...calls];
}

async function exchangeOf(platform: Platform, app: RegisteredApp, browser = new Browser()): Promise<Request> {
  const code = (await authorize(platform, app, { browser })).get('code')!;
  const grant = { grant_type: 'authorization_code', redirect_uri: app.redirectUri, code };
  return { app, credential: code, fields: { ...asClient(app), ...grant } };
}

afterEachKill(
  'a node that is killed during a code exchange leaves the code unused, or used with its tokens',
  exchangeOf,
  async ({ t, app, answer, fields, next, platform, state, where }) => {
    const { isUsed, unused } = await state();
    t.is(unused, isUsed ? 1 : 0, where);
    let tokens = answer;
    if (isUsed && !answer) {
      t.deepEqual((await next.token(fields)).body, REFUSED_GRANT, where);
      // The response was lost. A code works once (RFC 6749 section 4.1.2), so that the client needs a new one.
      tokens = await ask(next.origin, (await exchangeOf(platform, app)).fields);
    }
    tokens ??= await ask(next.origin, fields);
    t.is((await next.api('/identity', tokens.access_token)).status, 200, where);
    t.is((await exchangeRefreshToken(next, app, tokens.refresh_token)).status, 200, where);
  },
);

afterEachKill(
  'after a node is killed during a refresh, a retry gets the one successor',
  async (platform, app, browser) => {
    const credential = (await runCodeFlow(platform, app, { browser })).body.refresh_token;
    const fields = { grant_type: 'refresh_token', ...asClient(app), refresh_token: credential };
    return { app, credential, fields };
  },
  async ({ t, answer, app, fields, next, state, where }) => {
    t.is((await state()).unused, 1, where);
    const { status, body } = await next.token(fields);
    t.is(status, 200, where);
    if (answer) t.is(answer.refresh_token, body.refresh_token, where);
    t.is((await state()).unused, 1, where);
    t.is((await next.api('/identity', body.access_token)).status, 200, where);
    t.is((await exchangeRefreshToken(next, app, body.refresh_token)).status, 200, where);
  },
);

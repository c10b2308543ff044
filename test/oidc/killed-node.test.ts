// Alone, first: it starts and kills nodes.
import { createHash } from 'node:crypto';

import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { asClient } from '../harness/tokens.ts';
import { startProcess, stopAt } from './nodes.ts';

// In seconds. Long enough for a retry on a slow machine.
const GRACE = 60;

const REFUSED = { error: 'invalid_grant', error_description: 'grant request is invalid' };

interface Setup {
  readonly t: ExecutionContext;
  readonly database: TestDatabase;
  readonly address: string;
  /** A node that is not killed. */
  readonly platform: Platform;
}

type Tokens = TokenAnswer['body'];

/** A token request, and its code or refresh token. */
interface Request {
  readonly app: RegisteredApp;
  readonly credential: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The state after a node was killed during a request. */
interface Outcome extends Request {
  /** The response, if the node was killed after it was sent. */
  readonly answer: Tokens | undefined;
  /** Whether the credential is marked as used in the database. */
  readonly isUsed: boolean;
  /** A node that is started afterwards. */
  readonly next: Platform;
  /** The call at which the node was killed, for messages. */
  readonly where: string;
}

function onEachSetup(title: string, run: (setup: Setup) => Promise<void>): void {
  onEachDatabase(title, async (t, database, address) => {
    await using platform = await startServer(address);
    await run({ t, database, address, platform });
  });
}

async function startServer(
  address: string,
  { issuer, onCall }: { issuer?: string; onCall?: (name: string) => void } = {},
): Promise<Platform> {
  const storage = around(knexStorage(address), async (name, call) => {
    onCall?.(name);
    return call();
  });
  return startPlatform({
    storage,
    tokens: { refreshGrace: GRACE },
    ...(issuer === undefined ? {} : { issuer }),
  });
}

/**
 * Stops token requests on a node before and after each call of its storage, one request for each place, and then kills the
 * node. The requests are of different families, so one process serves for all of them.
 */
async function atEachCall(
  setup: Setup,
  prepare: () => Promise<Request>,
  verify: (outcome: Outcome) => Promise<void>,
): Promise<void> {
  const { t, address, platform } = setup;
  const issuer = platform.origin;
  const calls = await callsOf(setup, await prepare());
  // After a call means before the next one.
  const stops = [
    ...calls.map((name, index) => ({ when: 'before' as const, call: index + 1, where: `before ${name}` })),
    { when: 'after' as const, call: calls.length, where: `after ${calls.at(-1)}` },
  ];
  const requests: Request[] = [];
  while (requests.length < stops.length) requests.push(await prepare());

  const kill = { stopped: stops.length };
  const killed = startProcess();
  const node = await killed.open({ address, issuer, kill, tokens: { refreshGrace: GRACE } });
  const answers = await Promise.all(
    stops.map(async (stop, index) => ask(node.origin, requests[index]!, stopAt(stop)).catch(() => undefined)),
  );
  t.is(await killed.end, 'SIGKILL');

  const seen = new Set<boolean>();
  await using next = await startServer(address, { issuer });
  for (const [index, { where }] of stops.entries()) {
    const request = requests[index]!;
    const { isUsed } = await familyOf(setup, request);
    seen.add(isUsed);
    await verify({ ...request, answer: answers[index], isUsed, next, where });
  }
  t.is(seen.size, 2, 'some were stopped before the credential was marked as used, and some afterwards');
  t.log(`survived ${stops.length} of ${stops.length} kills, around ${calls.join(', ')}`);
}

/** The calls of the storage for a token request on a new node. */
async function callsOf({ t, address, platform }: Setup, request: Request): Promise<readonly string[]> {
  const calls: string[] = [];
  await using node = await startServer(address, {
    issuer: platform.origin,
    onCall: (name) => name === 'confirm' || calls.push(name),
  });
  calls.length = 0;
  t.truthy(await ask(node.origin, request));
  return [...calls];
}

/** Sends a request. Rejects without a response with tokens. */
async function ask(
  origin: string,
  { fields }: Pick<Request, 'fields'>,
  headers?: Record<string, string>,
): Promise<Tokens> {
  const { status, body } = await postJson(`${origin}/oauth/token`, fields, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as unknown as Tokens;
}

/** The state of a credential and of its family in the database. */
async function familyOf(
  { database, address }: Setup,
  { credential }: Pick<Request, 'credential'>,
): Promise<{ isUsed: boolean; unusedRefreshTokens: number }> {
  const rows = (await contentsOf(database, address)).get('gatehouse_credentials') ?? [];
  const id = createHash('sha256').update(credential).digest('base64url');
  const presented = rows.find((row) => row['id'] === id);
  const unused = rows.filter(
    (row) => row['grant_id'] === presented?.['grant_id'] && row['consumed_at'] === null,
  );
  return {
    isUsed: presented?.['consumed_at'] !== null,
    unusedRefreshTokens: unused.filter((row) => row['kind'] === 'refresh_token').length,
  };
}

function refreshBy(app: RegisteredApp, credential: string): Request {
  const fields = { grant_type: 'refresh_token', ...asClient(app), refresh_token: credential };
  return { app, credential, fields };
}

async function refreshAt(node: Platform, app: RegisteredApp, token: string): ReturnType<Platform['token']> {
  return node.token(refreshBy(app, token).fields);
}

onEachSetup(
  'a node that is killed during a code exchange leaves the code unused, or used with its tokens',
  async (setup) => {
    const { t, platform } = setup;
    const browser = new Browser();
    async function exchangeBy(app: RegisteredApp): Promise<Request> {
      const credential = (await authorize(platform, app, { browser })).get('code') ?? '';
      const fields = { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri };
      return { app, credential, fields: { ...fields, code: credential } };
    }
    // Each of a new app, because the first request of an app also records the use of its secret.
    const prepare = async () => exchangeBy(await platform.registerApp({ firstParty: true }));
    await atEachCall(setup, prepare, async ({ app, answer, isUsed, next, where, ...request }) => {
      t.is((await familyOf(setup, request)).unusedRefreshTokens, isUsed ? 1 : 0, where);
      let tokens = answer;
      if (isUsed && !answer) {
        t.deepEqual((await next.token(request.fields)).body, REFUSED, where);
        // The response was lost. A code works once (RFC 6749 section 4.1.2), so that the client needs a new one.
        tokens = await ask(next.origin, await exchangeBy(app));
      }
      tokens ??= await ask(next.origin, request);
      t.is((await next.api('/identity', tokens.access_token)).status, 200, where);
      t.is((await refreshAt(next, app, tokens.refresh_token)).status, 200, where);
    });
  },
);

onEachSetup('after a node is killed during a refresh, a retry gets the one successor', async (setup) => {
  const { t, platform } = setup;
  const browser = new Browser();
  async function prepare(): Promise<Request> {
    const app = await platform.registerApp({ firstParty: true });
    return refreshBy(app, (await runCodeFlow(platform, app, { browser })).body.refresh_token);
  }
  await atEachCall(setup, prepare, async ({ answer, app, next, where, ...request }) => {
    t.is((await familyOf(setup, request)).unusedRefreshTokens, 1, where);
    const { status, body } = await next.token(request.fields);
    t.is(status, 200, where);
    if (answer) t.is(answer.refresh_token, body.refresh_token, where);
    t.is((await familyOf(setup, request)).unusedRefreshTokens, 1, where);
    t.is((await next.api('/identity', body.access_token)).status, 200, where);
    t.is((await refreshAt(next, app, body.refresh_token)).status, 200, where);
  });
});

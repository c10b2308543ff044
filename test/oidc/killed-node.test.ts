import { createHash } from 'node:crypto';

import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, connect, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { asClient } from './families.ts';
import { startProcess, stopAt } from './nodes.ts';

// In seconds: so long that a retry comes in time on a machine that is slow.
const GRACE = 60;

const REFUSED = { error: 'invalid_grant', error_description: 'grant request is invalid' };

interface Place {
  readonly t: ExecutionContext;
  readonly database: TestDatabase;
  readonly address: string;
  /** A node that lives. */
  readonly platform: Platform;
}

type Tokens = TokenAnswer['body'];

/** A token request, and what it presents. */
interface Request {
  readonly app: RegisteredApp;
  readonly credential: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What is left when a node has died over a request. */
interface Remains extends Request {
  /** What the client got all the same, because the node died a moment later. */
  readonly answer: Tokens | undefined;
  /** What the database says of the credential. */
  readonly isSpent: boolean;
  /** The node that is started afterwards. */
  readonly next: Platform;
  /** Where the other one died, in words. */
  readonly where: string;
}

function onEachPlace(title: string, run: (place: Place) => Promise<void>): void {
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
  return startPlatform({ storage, refreshGrace: GRACE, ...(issuer === undefined ? {} : { issuer }) });
}

/**
 * Kills a node that has stopped a token request between any two calls of its storage, each time another request: what was
 * done of one cannot be seen from another, so it dies over all of them at once.
 */
async function atEachCall(
  place: Place,
  prepare: () => Promise<Request>,
  look: (remains: Remains) => Promise<void>,
): Promise<void> {
  const { t, address, platform } = place;
  const issuer = platform.origin;
  const calls = await callsOf(place, await prepare());
  // What is after a call is before the next one.
  const deaths = [
    ...calls.map((name, index) => ({ when: 'before' as const, call: index + 1, where: `before ${name}` })),
    { when: 'after' as const, call: calls.length, where: `after ${calls.at(-1)}` },
  ];
  const requests: Request[] = [];
  while (requests.length < deaths.length) requests.push(await prepare());

  const death = { stopped: deaths.length };
  const dying = startProcess();
  const node = await dying.open({ address, issuer, death, refreshGrace: GRACE });
  const answers = await Promise.all(
    deaths.map(async (stop, index) =>
      ask(node.origin, requests[index]!, stopAt(stop)).catch(() => undefined),
    ),
  );
  t.is(await dying.end, 'SIGKILL');

  const spent = new Set<boolean>();
  await using next = await startServer(address, { issuer });
  for (const [index, { where }] of deaths.entries()) {
    const request = requests[index]!;
    const { isSpent } = await familyOf(place, request);
    spent.add(isSpent);
    await look({ ...request, answer: answers[index], isSpent, next, where });
  }
  t.is(spent.size, 2, 'some died before the credential was spent, and some afterwards');
  t.log(`survived ${deaths.length} of ${deaths.length} kills, around ${calls.join(', ')}`);
}

/** The calls of the storage that a token request leads to on a node that has just started. */
async function callsOf({ t, address, platform }: Place, request: Request): Promise<readonly string[]> {
  const calls: string[] = [];
  await using node = await startServer(address, {
    issuer: platform.origin,
    onCall: (name) => calls.push(name),
  });
  calls.length = 0;
  t.truthy(await ask(node.origin, request));
  return [...calls];
}

/** Sends a request. Rejects when there is no answer, or none with tokens. */
async function ask(
  origin: string,
  { fields }: Pick<Request, 'fields'>,
  headers?: Record<string, string>,
): Promise<Tokens> {
  const { status, body } = await postJson(`${origin}/oauth/token`, fields, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as unknown as Tokens;
}

/** What the database has of a credential and of its family. */
async function familyOf(
  { database, address }: Place,
  { credential }: Pick<Request, 'credential'>,
): Promise<{ isSpent: boolean; unspentRefreshTokens: number }> {
  const rows = (await contentsOf(database, address)).get('gatehouse_credentials') ?? [];
  const id = createHash('sha256').update(credential).digest('base64url');
  const presented = rows.find((row) => row['id'] === id);
  const unspent = rows.filter(
    (row) => row['grant_id'] === presented?.['grant_id'] && row['consumed_at'] === null,
  );
  return {
    isSpent: presented?.['consumed_at'] !== null,
    unspentRefreshTokens: unspent.filter((row) => row['kind'] === 'refresh_token').length,
  };
}

function refreshBy(app: RegisteredApp, credential: string): Request {
  const fields = { grant_type: 'refresh_token', ...asClient(app), refresh_token: credential };
  return { app, credential, fields };
}

async function refreshAt(node: Platform, app: RegisteredApp, token: string): ReturnType<Platform['token']> {
  return node.token(refreshBy(app, token).fields);
}

onEachPlace('a node killed during a code exchange leaves the code good, or spent for good', async (place) => {
  const { t, platform } = place;
  const browser = new Browser();
  async function exchangeBy(app: RegisteredApp): Promise<Request> {
    const credential = (await authorize(platform, app, { browser })).get('code') ?? '';
    const fields = { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri };
    return { app, credential, fields: { ...fields, code: credential } };
  }
  // Each of a new app, because the first request of an app also notes that its secret was used.
  const prepare = async () => exchangeBy(await platform.registerApp({ firstParty: true }));
  await atEachCall(place, prepare, async ({ app, answer, isSpent, next, where, ...request }) => {
    t.is((await familyOf(place, request)).unspentRefreshTokens, isSpent ? 1 : 0, where);
    let tokens = answer;
    if (isSpent && !answer) {
      t.deepEqual((await next.token(request.fields)).body, REFUSED, where);
      // The tokens are nobody's. A code is good for one answer (RFC 6749 section 4.1.2), so the person starts again.
      tokens = await ask(next.origin, await exchangeBy(app));
    }
    tokens ??= await ask(next.origin, request);
    t.is((await next.api('/identity', tokens.access_token)).status, 200, where);
    t.is((await refreshAt(next, app, tokens.refresh_token)).status, 200, where);
  });
});

onEachPlace(
  'a node killed during a refresh loses no family: a retry gives its one successor',
  async (place) => {
    const { t, platform } = place;
    const browser = new Browser();
    async function prepare(): Promise<Request> {
      const app = await platform.registerApp({ firstParty: true });
      return refreshBy(app, (await connect(platform, app, { browser })).body.refresh_token);
    }
    await atEachCall(place, prepare, async ({ answer, app, next, where, ...request }) => {
      t.is((await familyOf(place, request)).unspentRefreshTokens, 1, where);
      const { status, body } = await next.token(request.fields);
      t.is(status, 200, where);
      if (answer) t.is(answer.refresh_token, body.refresh_token, where);
      t.is((await familyOf(place, request)).unspentRefreshTokens, 1, where);
      t.is((await next.api('/identity', body.access_token)).status, 200, where);
      t.is((await refreshAt(next, app, body.refresh_token)).status, 200, where);
    });
  },
);

onEachPlace('a node killed with twenty refreshes under way loses no family', async (place) => {
  const { t, address, platform } = place;
  const issuer = platform.origin;
  const app = await platform.registerApp({ firstParty: true });
  const browser = new Browser();
  const tokens: string[] = [];
  while (tokens.length < 20) tokens.push((await connect(platform, app, { browser })).body.refresh_token);

  const death = { redeemed: 10 };
  const dying = startProcess();
  const node = await dying.open({ address, issuer, death, refreshGrace: GRACE });
  const answers = await Promise.all(
    tokens.map(async (token) => ask(node.origin, refreshBy(app, token)).catch(() => undefined)),
  );
  t.is(await dying.end, 'SIGKILL');

  await using next = await startServer(address, { issuer });
  for (const [index, token] of tokens.entries()) {
    const { status, body } = await refreshAt(next, app, token);
    t.is(status, 200);
    const answer = answers[index];
    if (answer) t.is(answer.refresh_token, body.refresh_token);
    t.is((await familyOf(place, { credential: token })).unspentRefreshTokens, 1);
    t.is((await refreshAt(next, app, body.refresh_token)).status, 200);
  }
  t.log(`answered: ${answers.filter(Boolean).length} of ${tokens.length}`);
});

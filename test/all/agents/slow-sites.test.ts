import type { ServerResponse } from 'node:http';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { assertionParameters, makeKeyPair } from '../../harness/client-keys.ts';
import { passTime } from '../../harness/clock.ts';
import type { Platform } from '../../harness/platform.ts';
import { startPlatform } from '../../harness/platform.ts';
import { json, PATIENT_ON_LOOPBACK, servePublic } from '../../harness/public-server.ts';
import type { PublicServer } from '../../harness/public-server.ts';
import { requestsInProgress } from '../../harness/requests-in-progress.ts';
import { postForm, send } from '../../harness/requests.ts';
import type { Answer } from '../../harness/requests.ts';
import { until } from '../../harness/until.ts';
import { shared } from '../../harness/shared.ts';
import { tally } from '../../limits/platform.ts';
import { BEHIND_PROXY, CALLBACK, connect, requestOf, startWithDocuments } from '../../agents/documents.ts';

/*
 * The sites of these tests answer late or never, as a stranger's can. What waits for them must not take the places of others, and the
 * fetches that a stranger causes are limited: counted are the requests that sites receive.
 */

const MAX_REQUESTS = 20;
const WINDOW = 301;
const PATIENT = { ...BEHIND_PROXY, ...PATIENT_ON_LOOPBACK };
const STRANGER = '192.0.2.1';
const started = shared(async () => {
  const pair = await makeKeyPair('key-1');
  return { pair };
});

/** A site that answers nothing until it is told to. */
interface SilentSite extends PublicServer {
  /** Answers all requests so far and from here on with documents, or with what is given. */
  answer(this: void, value?: unknown): void;
  /** Answers no request from here on. */
  silence(this: void): void;
}

async function serveSilence(t: ExecutionContext): Promise<SilentSite> {
  const waiting: Array<() => void> = [];
  let respond: ((url: string, response: ServerResponse) => void) | undefined;
  const server = await servePublic((request, response) => {
    const answer = (): void => respond!(`https://${request.headers.host}${request.url}`, response);
    if (respond) answer();
    else waiting.push(answer);
  });
  t.teardown(async () => server[Symbol.asyncDispose]());
  return {
    ...server,
    answer(value) {
      respond = (id, response) =>
        json(value ?? { client_id: id, client_name: 'Agent', redirect_uris: [CALLBACK] })(
          undefined as never,
          response,
        );
      for (const answer of waiting.splice(0)) answer();
    },
    silence() {
      respond = undefined;
    },
  };
}

async function authorize(platform: Platform, id: string, address: string): Promise<Answer> {
  return send(requestOf(platform, id), { headers: { 'x-forwarded-for': address } });
}

/** Sends requests at once, and resolves when each of them is answered or waits in the server. */
async function flood(
  platform: Platform,
  count: number,
  ask: (index: number) => Promise<Answer>,
): Promise<{ readonly answers: Answer[]; readonly all: Promise<Answer[]> }> {
  const answers: Answer[] = [];
  const all = Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const answer = await ask(index);
      answers.push(answer);
      return answer;
    }),
  );
  await until(async () => answers.length + (await requestsInProgress(platform.auth)) >= count);
  return { answers, all };
}

/** What 74 requests of others get, four at a time. */
async function honest(platform: Platform): Promise<Record<number, number>> {
  const { client, secret } = await platform.registerService();
  const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const answers: Array<{ readonly status: number }> = [];
  while (answers.length < 74) {
    const some = Array.from({ length: Math.min(4, 74 - answers.length) }, async () => platform.token(fields));
    answers.push(...(await Promise.all(some)));
  }
  return tally(answers);
}

function refusedAtOnce(t: ExecutionContext, answers: readonly Answer[]): void {
  for (const { body, headers, status, text } of answers) {
    t.is(status, 429, text);
    t.true(Number(headers.get('retry-after')) > 0);
    t.is(headers.get('location'), null);
    t.regex(text, body ? /temporarily_unavailable/ : /too_many_attempts/);
  }
}

test.serial('one address with five slow documents takes no place of others', async (t) => {
  const platform = await startWithDocuments(t, {}, { limits: { concurrency: MAX_REQUESTS } }, PATIENT);
  const site = await serveSilence(t);
  const id = (index: number): string => `${site.origin}/client.json?${index}`;
  for (const round of [0, 1]) {
    const { all, answers } = await flood(platform, 60, async (index) =>
      authorize(platform, id(round * 5 + (index % 5)), STRANGER),
    );
    t.deepEqual(await honest(platform), { 200: 74 });
    t.is(answers.length, 59);
    refusedAtOnce(t, answers);
    // Nor does it keep others from connecting an app meanwhile.
    const other = authorize(
      platform,
      `${site.at('other.apps.example')}/client.json?${round}`,
      '198.51.100.1',
    );
    await until(() => site.requests.length >= 3 * round + 2);
    site.answer();
    t.is((await other).status, 303);
    t.is(tally(await all)[303], 1);
    t.is((await authorize(platform, `${site.origin}/again.json?${round}`, STRANGER)).status, 303);
    site.silence();
  }
});

test.serial('all strangers together hold a tenth of the places', async (t) => {
  const platform = await startWithDocuments(t, {}, { limits: { concurrency: MAX_REQUESTS } }, PATIENT);
  const site = await serveSilence(t);
  const { all, answers } = await flood(platform, 60, async (index) =>
    authorize(platform, `${site.at(`h${index}.apps.example`)}/client.json`, `10.0.${index}.1`),
  );
  t.deepEqual(await honest(platform), { 200: 74 });
  t.is(answers.length, 58);
  refusedAtOnce(t, answers);
  site.answer();
  t.deepEqual(tally(await all), { 303: 2, 429: 58 });
  t.is((await authorize(platform, `${site.origin}/client.json`, STRANGER)).status, 303);
});

async function startWithKeysAt(t: ExecutionContext, jwksUri: string): Promise<[Platform, string]> {
  const platform = await startPlatform(
    { limits: { concurrency: MAX_REQUESTS }, clients: { privateKeyJwt: true } },
    PATIENT,
  );
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const { client } = await platform.auth.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
    keys: { jwksUri },
  });
  return [platform, client.id];
}

async function assert(
  platform: Platform,
  id: string,
  { address = STRANGER, kid = 'key-1' }: { address?: string; kid?: string } = {},
): Promise<Answer> {
  const { pair } = await started();
  const by = { ...pair, publicJwk: { ...pair.publicJwk, kid } };
  const parameters = await assertionParameters(id, platform.auth.issuer, by);
  return postForm(
    platform.url('/oauth/token'),
    { grant_type: 'client_credentials', ...parameters },
    { 'x-forwarded-for': address },
  );
}

test.serial('an app that is stored goes on while strangers hold all places of those that wait', async (t) => {
  const platform = await startWithDocuments(t, {}, { limits: { concurrency: MAX_REQUESTS } }, PATIENT);
  const site = await serveSilence(t);
  site.answer();
  const stored = `${site.origin}/stored.json`;
  t.is((await connect(platform, stored)).status, 200);
  for (const round of [0, 1]) {
    // Longer than its document stays fresh.
    passTime(3700);
    site.silence();
    const fetched = site.requests.length + 2;
    const { all } = await flood(platform, 60, async (index) =>
      authorize(platform, `${site.at(`h${index}.apps.example`)}/${round}.json`, `10.0.${index}.1`),
    );
    await until(() => site.requests.length >= fetched);
    t.is((await authorize(platform, stored, '198.51.100.1')).status, 303);
    t.is(site.requests.length, fetched);
    site.answer();
    await all;
    t.is((await authorize(platform, stored, '198.51.100.1')).status, 303);
    t.is(site.requests.length, fetched + 1, 'fetched by the next');
  }
});

test.serial('wrong assertions for a client with a slow jwks_uri take no place of others', async (t) => {
  const { pair } = await started();
  const site = await serveSilence(t);
  const [platform, id] = await startWithKeysAt(t, `${site.origin}/jwks`);
  const { all, answers } = await flood(platform, 60, async (index) =>
    assert(platform, id, { kid: `unknown ${index}` }),
  );
  t.deepEqual(await honest(platform), { 200: 74 });
  t.is(answers.length, 59);
  refusedAtOnce(t, answers);
  t.like(answers[0]!.body, {
    error: 'temporarily_unavailable',
    error_description: 'too many requests that wait for the keys of clients; try again in 5 seconds',
  });
  site.answer({ keys: [pair.publicJwk] });
  t.deepEqual(tally(await all), { 401: 1, 429: 59 });
  t.is((await assert(platform, id)).status, 200);
});

test.serial('while keys are held, wrong assertions wait for no jwks_uri', async (t) => {
  const { pair } = await started();
  const site = await serveSilence(t);
  const [platform, id] = await startWithKeysAt(t, `${site.origin}/jwks`);
  site.answer({ keys: [pair.publicJwk] });
  t.is((await assert(platform, id)).status, 200);
  for (const round of [0, 1]) {
    site.silence();
    passTime(60);
    const answers = await Promise.all(
      Array.from({ length: 15 }, async (_, index) => assert(platform, id, { kid: `unknown ${index}` })),
    );
    // The first ten, and all others within the limit of wrong ones.
    if (round === 0) t.deepEqual(tally(answers), { 401: 10, 429: 5 });
    else t.deepEqual(tally(answers), { 429: 15 });
    t.is((await assert(platform, id)).status, 200, 'the client itself');
    await until(() => site.requests.length >= round + 2);
    t.is(site.requests.length, round + 2, 'fetched in the background, once');
    site.answer({ keys: [pair.publicJwk] });
  }
});

/** The number of answers with each status, to requests one after the other. */
async function countOf(
  count: number,
  ask: (index: number) => Promise<Answer>,
): Promise<Record<number, number>> {
  const answers: Answer[] = [];
  for (let index = 0; index < count; index += 1) answers.push(await ask(index));
  return tally(answers);
}

/** Serves each path as a document of its own. */
async function serveDocuments(t: ExecutionContext): Promise<SilentSite> {
  const site = await serveSilence(t);
  site.answer();
  return site;
}

test.serial(
  'a document that never arrives is given up after five seconds, two run at once from an origin and 32 in all',
  async (t) => {
    const platform = await startWithDocuments(t, {}, {}, BEHIND_PROXY);
    const site = await serveSilence(t);
    const before = performance.now();
    // Each from a network of its own: four documents at one origin, and one at each of 36 others.
    const ended = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const origin = index < 4 ? site.origin : site.at(`h${index}.apps.example`);
        const answer = await authorize(platform, `${origin}/client.json?${index}`, `10.0.${index}.1`);
        return { seconds: (performance.now() - before) / 1000, answer };
      }),
    );
    t.is(site.requests.length, 32);
    t.is(site.requests.filter((path) => /\?[0-3]$/.test(path)).length, 2);
    const late = ended.filter(({ answer }) => answer.status === 400);
    t.is(late.length, 32);
    for (const { answer, seconds } of late) {
      t.true(seconds >= 4.5 && seconds < 10, `${seconds}`);
      t.regex(answer.text, /the document did not arrive in time/);
    }
    const first = Math.min(...late.map(({ seconds }) => seconds));
    for (const { answer, seconds } of ended.filter((one) => !late.includes(one))) {
      refusedAtOnce(t, [answer]);
      t.true(seconds < first, `${seconds} ${first}`);
      t.is(answer.headers.get('retry-after'), '5');
    }

    // It works again afterwards, also for those that were refused meanwhile.
    const good = await serveDocuments(t);
    t.is((await connect(platform, `${good.origin}/client.json`)).status, 200);
    const again = await authorize(platform, `${site.origin}/client.json?0`, '10.0.0.1');
    t.regex(again.text, /the document did not arrive in time/);
    t.is(site.requests.length, 32, 'not fetched again for a minute');
  },
);

test.serial('one address has a tenth of what a host is asked for, and its network more', async (t) => {
  const platform = await startWithDocuments(t, {}, {}, BEHIND_PROXY);
  const site = await serveDocuments(t);
  for (const round of [0, 1]) {
    const before = site.requests.length;
    const from = async (index: number, address: string): Promise<Answer> =>
      authorize(platform, `${site.origin}/${round}/${address}/${index}`, address);
    t.deepEqual(await countOf(8, async (index) => from(index, '192.0.2.1')), { 303: 6, 429: 2 });
    // 18 for the /24.
    t.deepEqual(await countOf(20, async (index) => from(index, `192.0.2.${2 + index}`)), { 303: 12, 429: 8 });
    t.deepEqual(await countOf(8, async (index) => from(index, '2001:db8::1')), { 303: 6, 429: 2 });
    t.deepEqual(await countOf(8, async (index) => from(index, '2001:db8::2')), { 429: 8 });
    t.deepEqual(await countOf(8, async (index) => from(index, '2001:db8:0:1::1')), { 303: 6, 429: 2 });
    t.is(site.requests.length, before + 30);
    // An app of the host can be connected by everybody else.
    t.is((await authorize(platform, `${site.origin}/app/${round}`, '198.51.100.1')).status, 303);
    passTime(WINDOW);
  }
});

test.serial('each request that waits for a document is counted for its address', async (t) => {
  const platform = await startWithDocuments(t, {}, {}, BEHIND_PROXY);
  for (const round of [0, 1]) {
    for (const half of [0, 1]) {
      const slow = await serveSilence(t);
      const { all } = await flood(platform, 10, async () =>
        authorize(platform, `${slow.origin}/${round}/${half}`, STRANGER),
      );
      slow.answer();
      t.deepEqual(tally(await all), { 303: 10 });
      t.is(slow.requests.length, 1);
    }
    const site = await serveDocuments(t);
    const id = `${site.origin}/client.json`;
    const refused = await authorize(platform, id, STRANGER);
    refusedAtOnce(t, [refused]);
    t.true(Number(refused.headers.get('retry-after')) > 280);
    t.is(site.connections(), 0);
    passTime(WINDOW);
    t.is((await authorize(platform, id, STRANGER)).status, 303);
    passTime(WINDOW);
  }
});

test.serial('a host gets 60 requests in five minutes from all addresses', async (t) => {
  const platform = await startWithDocuments(t, {}, {}, BEHIND_PROXY);
  const site = await serveDocuments(t);
  for (const round of [0, 1]) {
    const before = site.requests.length;
    const answers = await countOf(70, async (index) =>
      authorize(platform, `${site.origin}/${round}/${index}`, `10.0.${index}.1`),
    );
    t.deepEqual(answers, { 303: 60, 429: 10 });
    t.is(site.requests.length, before + 60);
    // What is known goes on, and so do other hosts.
    t.is((await authorize(platform, `${site.origin}/${round}/0`, '10.1.0.1')).status, 303);
    const other = `${site.at(`h${round}.apps.example`)}/client.json`;
    t.is((await authorize(platform, other, '10.1.0.1')).status, 303);
    passTime(WINDOW);
  }
});

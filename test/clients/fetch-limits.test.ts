// Alone: it counts the places for requests to sites, which all servers of a process share.
import test from 'ava';
import type { ExecutionContext } from 'ava';

import { passTime } from '../harness/clock.ts';
import type { Platform } from '../harness/platform.ts';
import { json, servePublic } from '../harness/public-server.ts';
import type { PublicServer } from '../harness/public-server.ts';
import { requestsInProgress } from '../harness/requests-in-progress.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { tally } from '../limits/platform.ts';
import { BEHIND_PROXY, CALLBACK, connect, requestOf, startWithDocuments } from './documents.ts';

/*
 * The limits of fetches as a server has them, without any that a test gives: counted are the requests that sites receive.
 */

const WINDOW = 301;

async function start(t: ExecutionContext): Promise<Platform> {
  return startWithDocuments(t, {}, {}, BEHIND_PROXY);
}

async function authorize(platform: Platform, id: string, address: string): Promise<Answer> {
  return send(requestOf(platform, id), { headers: { 'x-forwarded-for': address } });
}

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
async function serveDocuments(t: ExecutionContext): Promise<PublicServer> {
  const site = await servePublic((request, response) => {
    const id = `https://${request.headers.host}${request.url}`;
    json({ client_id: id, client_name: 'Agent', redirect_uris: [CALLBACK] })(request, response);
  });
  t.teardown(async () => site[Symbol.asyncDispose]());
  return site;
}

/** Serves nothing. */
async function serveSilence(t: ExecutionContext): Promise<PublicServer> {
  const site = await servePublic(() => {});
  t.teardown(async () => site[Symbol.asyncDispose]());
  return site;
}

test.serial(
  'a document that never arrives is given up after five seconds, two run at once from an origin and 32 in all',
  async (t) => {
    const platform = await start(t);
    const site = await serveSilence(t);
    const before = performance.now();
    const asking: Array<Promise<{ readonly seconds: number; readonly answer: Answer }>> = [];
    const ask = async (id: string, address: string): Promise<{ seconds: number; answer: Answer }> => {
      const answer = await authorize(platform, id, address);
      return { seconds: (performance.now() - before) / 1000, answer };
    };
    // Each from a network of its own: four documents at one origin, and one at each of 36 others.
    for (let index = 0; index < 4; index += 1)
      asking.push(ask(`${site.origin}/client.json?${index}`, `10.0.${index}.1`));
    for (let index = 0; index < 36; index += 1)
      asking.push(ask(`${site.at(`h${index}.apps.example`)}/client.json`, `10.1.${index}.1`));
    const ended = await Promise.all(asking);
    t.is(site.requests.length, 32);
    t.is(site.requests.filter((path) => path.includes('?')).length, 2);
    const late = ended.filter(({ seconds }) => seconds >= 4.5);
    t.is(late.length, 32);
    for (const { answer, seconds } of late) {
      t.true(seconds < 10, `${seconds}`);
      t.is(answer.status, 400);
      t.regex(answer.text, /the document did not arrive in time/);
    }
    for (const { answer } of ended.filter((one) => !late.includes(one))) {
      t.is(answer.status, 429);
      t.is(answer.headers.get('retry-after'), '5');
      t.regex(answer.text, /too_many_attempts/);
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
  const platform = await start(t);
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
  const platform = await start(t);
  const address = '192.0.2.1';
  for (const round of [0, 1]) {
    for (const half of [0, 1]) {
      const arrived = Promise.withResolvers<() => void>();
      await using site = await servePublic((_request, response) => {
        arrived.resolve(() => response.writeHead(500).end());
      });
      const all = Array.from({ length: 10 }, async () =>
        authorize(platform, `${site.origin}/${round}/${half}`, address),
      );
      const end = await arrived.promise;
      while ((await requestsInProgress(platform.auth)) < 10) await new Promise(setImmediate);
      end();
      t.deepEqual(tally(await Promise.all(all)), { 400: 10 });
      t.is(site.requests.length, 1);
    }
    const site = await serveDocuments(t);
    const refused = await authorize(platform, `${site.origin}/client.json`, address);
    t.is(refused.status, 429);
    t.regex(refused.text, /too_many_attempts/);
    t.true(Number(refused.headers.get('retry-after')) > 280);
    t.is(site.connections(), 0);
    passTime(WINDOW);
    t.is((await authorize(platform, `${site.origin}/client.json`, address)).status, 303);
    passTime(WINDOW);
  }
});

test.serial('a host gets 60 requests in five minutes from all addresses', async (t) => {
  const platform = await start(t);
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

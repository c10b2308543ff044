import test from '../harness/test.ts';

import { createRemoteKeys } from '../../lib/clients/remote-keys.ts';
import type { RemoteKeys } from '../../lib/clients/remote-keys.ts';
import { PublicFetchError } from '../../lib/http/public-request.ts';
import type { PublicDocument } from '../../lib/http/public-fetch.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { recordingLogger } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const ADDRESS = '192.0.2.1';
const URL_OF_KEYS = 'https://app.example/jwks';
const started = shared(async () => {
  const { publicJwk: first } = await makeKeyPair('first');
  const { publicJwk: second } = await makeKeyPair('second', 'RS256');
  return { first, second };
});

interface Site {
  readonly remote: RemoteKeys;
  readonly logger: ReturnType<typeof recordingLogger>;
  /** The number of fetches so far. */
  fetches: number;
  answer: () => Promise<PublicDocument>;
}

function siteWith(...keys: readonly unknown[]): Site {
  return siteFor({}, ...keys);
}

function siteFor(
  settings: { readonly isTrusted?: boolean; readonly of?: string },
  ...keys: readonly unknown[]
): Site {
  const logger = recordingLogger();
  const site: Site = {
    logger,
    fetches: 0,
    answer: async () => documentOf(...keys),
    remote: createRemoteKeys(
      async () => {
        site.fetches += 1;
        return site.answer();
      },
      { ...settings, logger, waits: { wait: async (_place, read) => read() } },
    ),
  };
  return site;
}

function documentOf(...keys: readonly unknown[]): PublicDocument {
  return { value: { keys }, maxAge: undefined };
}

async function idsOf({ remote }: Site, keyId?: string): Promise<unknown> {
  const found = await remote.find(URL_OF_KEYS, keyId, ADDRESS);
  return 'keys' in found ? found.keys.map(({ kid }) => kid) : found.problem;
}

test.serial(
  'keys are fetched once in five minutes, as one object, and ahead for a client that uses them',
  async (t) => {
    const { first, second } = await started();
    using _stopped = stopClock();
    const site = siteWith(first);
    const found = await Promise.all(
      Array.from({ length: 20 }, async () => site.remote.find(URL_OF_KEYS, 'first', ADDRESS)),
    );
    t.is(new Set(found).size, 1);
    passTime(269);
    t.deepEqual([await idsOf(site, 'first'), await idsOf(site)], [['first'], ['first']]);
    t.is(site.fetches, 1);
    site.answer = async () => documentOf(second);
    passTime(31);
    t.deepEqual(await idsOf(site, 'first'), ['second'], 'a removed key is gone after five minutes');
    t.is(site.fetches, 2);
    for (let fetches = 3; fetches < 6; fetches += 1) {
      passTime(270);
      const arrived = Promise.withResolvers<PublicDocument>();
      site.answer = async () => arrived.promise;
      t.deepEqual(
        [await idsOf(site, 'second'), await idsOf(site)],
        [['second'], ['second']],
        'without a wait',
      );
      t.is(site.fetches, fetches);
      arrived.resolve(documentOf(second));
      await new Promise(setImmediate);
    }
  },
);

test.serial(
  'while keys are held, an unknown key id waits for no fetch, however slow the URL is, and causes one in a minute',
  async (t) => {
    const { first, second } = await started();
    using _stopped = stopClock();
    const site = siteWith(first);
    for (let count = 0; count < 10; count += 1) await idsOf(site, `unknown ${count}`);
    await Promise.all(Array.from({ length: 10 }, async (_, index) => idsOf(site, `other ${index}`)));
    t.is(site.fetches, 1);
    for (const age of [60, 300, 3599]) {
      const arrived = Promise.withResolvers<PublicDocument>();
      site.answer = async () => arrived.promise;
      passTime(age);
      for (let count = 0; count < 5; count += 1)
        t.deepEqual(await idsOf(site, `unknown ${count}`), ['first'], `${age}`);
      arrived.resolve(documentOf(first));
      await new Promise(setImmediate);
    }
    t.is(site.fetches, 4);
    site.answer = async () => documentOf(first, second);
    passTime(59);
    t.deepEqual(await idsOf(site, 'second'), ['first']);
    passTime(1);
    t.deepEqual(await idsOf(site, 'second'), ['first'], 'fetched for the next request');
    await new Promise(setImmediate);
    t.deepEqual(await idsOf(site, 'second'), ['first', 'second']);
    t.is(site.fetches, 5);
  },
);

test.serial(
  'where the URLs are trusted, an unknown key id waits for the fetch that it causes, once in a minute',
  async (t) => {
    const { first, second } = await started();
    using _stopped = stopClock();
    const site = siteFor({ isTrusted: true, of: 'an issuer' }, first);
    await idsOf(site, 'first');
    site.answer = async () => documentOf(first, second);
    passTime(59);
    t.deepEqual(await idsOf(site, 'second'), ['first']);
    passTime(1);
    const arrived = Promise.withResolvers<PublicDocument>();
    site.answer = async () => arrived.promise;
    const waiting = [idsOf(site, 'second'), idsOf(site, 'second')];
    t.deepEqual(await idsOf(site, 'first'), ['first'], 'a known key waits for nothing');
    arrived.resolve(documentOf(first, second));
    t.deepEqual(await Promise.all(waiting), [
      ['first', 'second'],
      ['first', 'second'],
    ]);
    t.is(site.fetches, 2);
    for (let count = 0; count < 10; count += 1) await idsOf(site, `unknown ${count}`);
    t.is(site.fetches, 2);

    site.answer = async () => Promise.reject(new PublicFetchError('timeout'));
    passTime(60);
    t.deepEqual(await idsOf(site, 'third'), ['first', 'second'], 'the keys that there are stay');
    t.like(site.logger.lines.at(-1), { level: 'warn', message: 'fetching the keys of an issuer failed' });
  },
);

test.serial(
  'while the URL fails, it is tried once a minute, and known keys are used for an hour',
  async (t) => {
    const { first, second } = await started();
    using _stopped = stopClock();
    const site = siteWith(first);
    await idsOf(site, 'first');
    site.answer = async () => Promise.reject(new PublicFetchError('timeout'));
    for (let minute = 0; minute < 59; minute += 1) {
      passTime(60);
      for (let count = 0; count < 3; count += 1) t.deepEqual(await idsOf(site, 'first'), ['first']);
    }
    t.is(site.fetches, 1 + 55);
    passTime(60);
    t.is(await idsOf(site, 'first'), 'the document did not arrive in time');
    t.like(site.logger.lines.at(-1), {
      level: 'warn',
      message: 'fetching the keys of a client failed',
      fields: { jwks_uri: URL_OF_KEYS },
    });
    site.answer = async () => documentOf(second);
    passTime(60);
    t.deepEqual(await idsOf(site, 'second'), ['second']);
  },
);

test.serial('a lifetime in the response is kept between one and five minutes', async (t) => {
  const { first } = await started();
  using _stopped = stopClock();
  for (const [maxAge, after] of [
    [0, 60],
    [120, 120],
    [86_400, 300],
  ] as const) {
    const site = siteWith();
    site.answer = async () => ({ value: { keys: [first] }, maxAge });
    await idsOf(site, 'first');
    passTime(after - 31);
    await idsOf(site, 'first');
    t.is(site.fetches, 1, `${maxAge}`);
    passTime(31);
    await idsOf(site, 'first');
    t.is(site.fetches, 2, `${maxAge}`);
  }
});

test.serial('a fetch waits while the host is busy, and is tried again at the next request', async (t) => {
  const { first } = await started();
  const site = siteWith(first);
  const answer = site.answer;
  site.answer = async () => (site.fetches < 3 ? Promise.reject(new PublicFetchError('busy')) : answer());
  t.deepEqual(await idsOf(site, 'first'), ['first']);
  t.is(site.fetches, 3);

  const busy = siteWith(first);
  busy.answer = async () => Promise.reject(new PublicFetchError('busy'));
  t.is(typeof (await idsOf(busy, 'first')), 'string', 'busy for as long as a fetch waits');
  busy.answer = async () => documentOf(first);
  t.deepEqual(await idsOf(busy, 'first'), ['first'], 'nothing was sent to the host, so it is asked at once');
});

test.serial(
  'keys that can be used are found: one of several with a kid, none that verifies nothing',
  async (t) => {
    const { first, second } = await started();
    const [{ publicJwk: again }, { publicJwk: other }, { privateJwk }] = await Promise.all([
      makeKeyPair('first'),
      makeKeyPair('first', 'ES512'),
      makeKeyPair('leaked'),
    ]);
    for (const [keys, found] of [
      [
        [first, again, other, again, other],
        [first, other],
      ],
      [
        [
          { ...first, use: 'sig', x5c: ['certificate'] },
          { ...second, use: 'enc' },
          { kty: 'oct', k: 'c2VjcmV0', kid: 'symmetric' },
          privateJwk,
          'no key',
        ],
        [{ ...first, use: 'sig' }],
      ],
    ])
      t.deepEqual(await siteWith(...keys!).remote.find(URL_OF_KEYS, 'first', ADDRESS), { keys: found });
  },
);

test.serial('a document without keys that can be used is refused, with the problem', async (t) => {
  const { first } = await started();
  for (const [problem, value] of [
    ['it is no JWK Set', []],
    ['it is no JWK Set', { keys: 'none' }],
    ['it is no JWK Set', { keys: [] }],
    ['it has more than 10 keys', { keys: Array.from({ length: 11 }, () => first) }],
    [
      'it has no key that can be used: give a public key as a JWK, an object (RFC 7517 section 4)',
      { keys: [1] },
    ],
  ] as const) {
    const site = siteWith();
    site.answer = async () => ({ value, maxAge: undefined });
    t.is(await idsOf(site, 'first'), problem);
  }
});

import test from '../../harness/test.ts';
import fc from 'fast-check';

import { serveExample } from '../../examples/served-example.ts';
import { clientToken, userToken } from '../../examples/tokens.ts';
import { SEED } from '../../harness/seed.ts';
import { shared } from '../../harness/shared.ts';
import { arbitraryOf, CHARACTER } from '../../api/contract/arbitrary.ts';
import { readContract } from '../../api/contract/document.ts';
import type { Answer, Document, Operation } from '../../api/contract/document.ts';

/** For each operation. */
const REQUESTS = 400;

const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const api = `${announced.base_url}/api/v1`;
  const contract = readContract((await (await fetch(`${api}/openapi.json`)).json()) as Document);
  const credentials = await Promise.all([
    userToken(announced, 'ada@platform.example'),
    clientToken(announced, 'Nightly import'),
    userToken(announced, 'ruth@platform.example'),
    clientToken(announced, 'Status monitor'),
  ]);
  const AUTHORIZATION = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...credentials.map((token) => `Bearer ${token}`)) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, 'Bearer', 'Bearer a.b.c', 'Basic YTpi') },
  );
  return { api, contract, AUTHORIZATION };
});

interface Sent {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** Mostly those of the example, so that requests also succeed. */
const PATH_WORDS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  id: fc.oneof(
    fc.constantFrom('harbour', 'hill', 'nowhere'),
    fc.string({ unit: CHARACTER, minLength: 1, maxLength: 20 }),
  ),
  type: fc.oneof(fc.constantFrom('school', 'pupil'), fc.string({ minLength: 1 })),
  action: fc.oneof(fc.constantFrom('create-school-action', 'nothing-action'), fc.string({ minLength: 1 })),
};

const MEDIA_TYPES = fc.oneof(
  { weight: 15, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=utf-16',
      '',
    ),
  },
);

const BROKEN = fc.constantFrom('', '{', '[]', 'null', '"a"', '{"a":1}}', '\u0000', '['.repeat(5000));

/** Requests for an operation, of which most are as the document asks. */
async function requestsFor({ body, parameters, path }: Operation): Promise<fc.Arbitrary<Sent>> {
  const { contract, AUTHORIZATION } = await started();
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return fc
    .record({
      words: fc.tuple(...names.map((name) => PATH_WORDS[name] ?? fc.string({ minLength: 1 }))),
      query: fc.tuple(
        ...query.map(({ schema = {} }) =>
          fc.option(arbitraryOf(schema, contract.schemaAt), { freq: 2, nil: undefined }),
        ),
      ),
      authorization: AUTHORIZATION,
      accept: fc.constantFrom(
        undefined,
        '*/*',
        'application/json',
        'application/x-ndjson',
        'text/html',
        'image/*;q=0',
      ),
      idempotencyKey: fc.option(
        fc.oneof(fc.constantFrom('one', 'two'), fc.stringMatching(/^[ -~]{0,300}$/)),
        { freq: 3, nil: undefined },
      ),
      contentType: MEDIA_TYPES,
      body:
        body === undefined
          ? fc.constant(undefined)
          : fc.oneof(
              {
                weight: 12,
                arbitrary: arbitraryOf(body, contract.schemaAt).map((value) => JSON.stringify(value)),
              },
              { weight: 1, arbitrary: BROKEN },
            ),
    })
    .map(({ words, query: values, authorization, accept, idempotencyKey, contentType, body: text }) => {
      const search = new URLSearchParams();
      for (const [index, value] of values.entries())
        if (value !== undefined)
          search.append(query[index]!.name, typeof value === 'string' ? value : JSON.stringify(value));
      let next = 0;
      const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(words[next++]!.toWellFormed()));
      return {
        path: search.size === 0 ? filled : `${filled}?${String(search)}`,
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...(accept !== undefined && { accept }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(text !== undefined && { 'content-type': contentType }),
        },
        body: text,
      };
    });
}

async function send({ method }: Operation, { body, headers, path }: Sent): Promise<Answer> {
  const { api } = await started();
  const response = await fetch(api + path, { method, headers, ...(body !== undefined && { body }) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('every answer of the API is one that its document describes, whatever is sent', async (t) => {
  const { contract } = await started();
  t.timeout(240_000);
  const faults = new Map<string, Sent>();
  for (const operation of contract.operations) {
    const name = `${operation.method} ${operation.path}`;
    const seen = new Set<number>();
    for (const sent of fc.sample(await requestsFor(operation), { numRuns: REQUESTS, seed: SEED })) {
      // oxlint-disable-next-line no-await-in-loop -- some change what the next one finds
      const answer = await send(operation, sent);
      seen.add(answer.status);
      const found = contract.faultsOf(operation, answer);
      if (answer.status >= 500) found.push(`a fault of the server: ${answer.text}`);
      for (const fault of found) faults.set(`${name}: ${fault}`, sent);
    }
    // Were all refused, nothing would have been tried.
    t.true(seen.has(401) && seen.has(200), `${name}: ${[...seen].join(', ')}`);
  }
  const examples = [...faults].map(([fault, { body, path }]) => `${fault}, as for ${path} ${body ?? ''}`);
  t.deepEqual(examples, []);
});

import { inspect } from 'node:util';

import test from '../../harness/test.ts';
import { PdfClient } from 'koa-gatehouse/pdf';
import { ConfigError } from 'koa-gatehouse';

import { PDF, clientOf, errorOf } from './clients.ts';
import { TREE, answer, faultServer, json, png } from './fault-server.ts';
import type { PdfHooks } from '../../../lib/pdf/options.ts';

const KEY = 'sk-0123456789abcdef';

test('the key is sent with each request, and omitted when it is empty or not set', async (t) => {
  await using service = await faultServer(answer(503, ''), json(TREE), json(TREE), png);
  const client = clientOf(service, { apiKey: KEY });
  await client.extract(PDF);
  await client.extract('https://example.com/a.pdf');
  await client.render(PDF);
  t.deepEqual(
    service.received.map(({ headers }) => headers.authorization),
    Array.from({ length: 4 }, () => `Bearer ${KEY}`),
  );

  await using open = await faultServer(json(TREE));
  await clientOf(open, { apiKey: '' }).extract(PDF);
  await clientOf(open).extract(PDF);
  for (const { headers } of open.received) t.false('authorization' in headers);
});

/** Everything that a log could contain of a value. */
function written(value: unknown): string {
  const seen = new Set<unknown>();
  const own: string[] = [];
  (function walk(part: unknown) {
    if (typeof part === 'string') own.push(part);
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    for (const name of Reflect.ownKeys(part)) walk((part as Record<PropertyKey, unknown>)[name]);
  })(value);
  const options = { depth: Infinity, showHidden: true, getters: true };
  return [String(value), inspect(value, options), JSON.stringify(value), ...own].join('\n');
}

test('no error and no hook contains the key', async (t) => {
  const echo = answer(401, `The key "${KEY}" is unknown`, { 'x-key': KEY, 'content-type': 'text/plain' });
  await using echoing = await faultServer(echo);
  await using html = await faultServer(answer(200, `<html>${KEY}`));
  await using picture = await faultServer(answer(200, KEY, { 'content-type': 'text/html' }));
  await using cut = await faultServer((request) => request.socket.destroy());
  await using still = await faultServer((request) => request.resume());
  const events: unknown[] = [];
  const hooks: PdfHooks = {
    onRequest: (event) => events.push(event),
    onResponse: (event) => events.push(event),
    onRetry: (event) => events.push(event),
  };
  const options = { apiKey: KEY, hooks };
  const errors = await Promise.all([
    errorOf(clientOf(echoing, options).extract(PDF)),
    errorOf(clientOf(html, options).extract(PDF)),
    errorOf(clientOf(picture, options).render(PDF)),
    errorOf(clientOf(cut, options).extract(PDF)),
    errorOf(clientOf(still, { ...options, timeout: '30 ms' }).extract(PDF)),
    errorOf(clientOf({ origin: 'http://127.0.0.1:1' }, options).extract(PDF)),
    errorOf(clientOf(echoing, options).extract('/not/there')),
  ]);
  for (const error of [...errors, ...events]) t.false(written(error).includes(KEY), inspect(error));
  t.like(errors[0].response, { body: 'The key "[API key]" is unknown', headers: { 'x-key': '[API key]' } });
  t.is(
    errors[0].message,
    `The PDF service answered ${echoing.origin}/extract with 401: The key "[API key]" is unknown`,
  );
  t.true(events.length > 10);
});

test('no output of a client and of an image stream contains the key', async (t) => {
  await using service = await faultServer(png);
  const client = clientOf(service, { apiKey: KEY, headers: { 'x-other-key': KEY } });
  const image = await client.renderStream(PDF);
  for (const value of [client, image]) t.false(written(value).includes(KEY));
  t.is(JSON.stringify(client), '{}');
  image.stream.destroy();
});

test('a key that no header field can have is an error that does not contain it', (t) => {
  for (const apiKey of [`${KEY}\r\nX-Evil: 1`, `${KEY}\n`, `${KEY} ${KEY}`, `${KEY}é`, { KEY }]) {
    const error = t.throws(() => new PdfClient({ apiKey: apiKey as string }), {
      instanceOf: ConfigError,
      message:
        'apiKey: give a string of visible ASCII characters; one that was read from a file may end with a line break',
    });
    t.false(written(error).includes(KEY));
  }
});

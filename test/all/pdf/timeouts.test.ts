import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';

import { PDF, clientOf, errorOf } from './clients.ts';
import { TREE, faultServer, json } from './fault-server.ts';
import type { Reply } from './fault-server.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

const SHORT = { timeout: '1 second', retries: 1 } as const;

test('ERR_PDF_TIMEOUT after each attempt when no response begins', async (t) => {
  await using service = await faultServer((request) => request.resume());
  const error = await errorOf(clientOf(service, SHORT).extract(PDF));
  t.like(error, { code: 'ERR_PDF_TIMEOUT', status: 504, attempts: 2 });
  t.is(service.received.length, 2);
  t.regex(
    error.message,
    /^For 1000 ms the PDF service (did not start its response|neither received nor sent data) \(http:\/\/127\.0\.0\.1:\d+\)\. Raise timeout, or check the service\.$/,
  );
});

const processing: Reply = (request, response) => {
  request.resume();
  const busy = setInterval(() => response.writeProcessing(), 10);
  response.on('close', () => clearInterval(busy));
};

const endless: Reply = (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' });
  const writing = setInterval(() => response.write(' '), 10);
  response.on('close', () => clearInterval(writing));
};

for (const [what, reply, says] of [
  ['only 102 responses arrive', processing, /^For 2000 ms the PDF service did not start its response/],
  [
    'a response arrives slowly without an end',
    endless,
    /^For 2000 ms the PDF service did not finish its response/,
  ],
] as const) {
  test(`ERR_PDF_TIMEOUT when ${what}`, async (t) => {
    await using service = await faultServer(reply);
    const error = await errorOf(clientOf(service, { timeout: '2 seconds', retries: 0 }).extract(PDF));
    t.is(error.code, 'ERR_PDF_TIMEOUT');
    t.regex(error.message, says);
  });
}

test('ERR_PDF_TIMEOUT after each attempt when the service does not read the document', async (t) => {
  await using service = await faultServer((request) => request.pause());
  const error = await errorOf(clientOf(service, SHORT).extract(new Uint8Array(30_000_000)));
  t.like(error, { code: 'ERR_PDF_TIMEOUT', attempts: 2 });
  t.regex(error.message, /neither received nor sent data/);
});

test('ERR_PDF_TIMEOUT when a server accepts connections and sends nothing', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).resume();
  });
  const { port } = endWith(t, await listenOn(server));
  // Over https, the TLS handshake does not complete.
  for (const protocol of ['http', 'https']) {
    const error = await errorOf(clientOf({ origin: `${protocol}://127.0.0.1:${port}` }, SHORT).extract(PDF));
    t.is(error.code, 'ERR_PDF_TIMEOUT');
  }
  t.is(connections, 4);
});

async function* slow(): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < 10; sent += 1) {
    await delay(700);
    yield PDF;
  }
}

test('an upload may take longer than the timeout while data is sent', async (t) => {
  await using service = await faultServer(json(TREE));
  t.deepEqual(await clientOf(service, { timeout: '6 seconds' }).extract(slow()), TREE);
});

test('the call’s timeout takes precedence, and a setter applies to later calls', async (t) => {
  await using service = await faultServer((request) => request.resume());
  const client = clientOf(service, { retries: 0, timeout: '60000 ms' });
  t.regex((await errorOf(client.extract(PDF, { timeout: '30 ms' }))).message, /^For 30 ms/);
  client.timeout = '40 ms';
  t.regex((await errorOf(client.extract(PDF))).message, /^For 40 ms/);
});

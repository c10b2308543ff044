import test from 'ava';

import { PDF, clientOf, errorOf } from './clients.ts';
import { TREE, answer, faultServer, json } from './fault-server.ts';

for (const status of [300, 301, 302, 303, 304, 307, 308]) {
  test(`${status} to another host: it receives neither the document nor the key`, async (t) => {
    await using elsewhere = await faultServer(json(TREE));
    await using service = await faultServer(answer(status, '', { location: `${elsewhere.origin}/extract` }));
    const error = await errorOf(clientOf(service, { apiKey: 'sesame' }).extract(PDF));
    t.is(elsewhere.received.length, 0);
    t.is(service.received.length, 1);
    t.is(error.code, 'ERR_PDF_HTTP');
    t.is(error.answer?.status, status);
    t.is(error.attempts, 1);
    t.is(
      error.message,
      `The PDF service answered ${service.origin}/extract with ${status}, a redirect, which is not followed. Set baseUrl to the address of the service itself.`,
    );
  });
}

test('a redirect on the same host is not followed', async (t) => {
  await using service = await faultServer(answer(307, '', { location: '/v2/extract' }), json(TREE));
  t.is((await errorOf(clientOf(service).extract(PDF))).answer?.headers['location'], '/v2/extract');
  t.is(service.received.length, 1);
});

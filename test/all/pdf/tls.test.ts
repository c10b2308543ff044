import { Agent } from 'node:https';

import test from '../../harness/test.ts';

import { TLS } from '../../harness/public-server.ts';
import { serve } from '../../harness/serve.ts';
import { PDF, clientOf, errorOf } from './clients.ts';
import { PNG, TREE } from './fault-server.ts';

test('an untrusted certificate: no document is sent, and there is no retry', async (t) => {
  let requests = 0;
  await using service = await serve(
    () => (_request, response) => {
      requests += 1;
      response.end(JSON.stringify(TREE));
    },
    { tls: TLS },
  );
  const error = await errorOf(clientOf(service).extract(new Uint8Array(1_000_000)));
  t.is(error.code, 'ERR_PDF_CONNECTION');
  t.like(error.cause, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  t.is(error.attempts, 1);
  t.is(requests, 0);
});

test('with an agent that trusts the certificate, requests succeed', async (t) => {
  let received = 0;
  await using service = await serve(
    () => (request, response) => {
      request.on('data', (chunk: Buffer) => {
        received += chunk.byteLength;
      });
      request.on('end', () => response.writeHead(200, { 'content-type': 'image/png' }).end(PNG));
    },
    { tls: TLS },
  );
  const https = new Agent({ ca: TLS.cert });
  t.teardown(() => https.destroy());
  const { data } = await clientOf(service, { agent: { https } }).render(PDF);
  t.deepEqual(data, PNG);
  t.true(received > PDF.byteLength);
});

import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

import test from '../harness/test.ts';

import { createArrivingBodies } from '../../lib/http/arriving-bodies.ts';

const CAPACITY = 1_000_000;

/** A request with a chunked body of which nothing has arrived. */
function chunked(): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers = { 'transfer-encoding': 'chunked' };
  return request;
}

test('what a client sends after its request has ended takes no memory from the bodies of others', (t) => {
  const bodies = createArrivingBodies({ timeout: 30, capacity: CAPACITY });
  for (let count = 0; count < 3; count += 1) {
    const body = bodies.track(chunked())!;
    t.is(body.reserve(CAPACITY), undefined);
    t.is(bodies.end(body), 'ended');
    t.is(body.reserve(100_000), undefined);
  }
  const body = bodies.track(chunked())!;
  t.is(body.reserve(CAPACITY), undefined);
  t.is(body.reserve(1), 'too large');
  bodies.end(body);
});

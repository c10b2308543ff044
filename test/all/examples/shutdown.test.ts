import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

import test from '../../harness/test.ts';

import { gracefulStop } from '../../../examples/server/shutdown.ts';
import { RawConnection } from '../../harness/raw-connection.ts';
import { listenOn } from '../../harness/serve.ts';

test('a stopping server ends a request that does not arrive; one that it was too busy to read is answered', async (t) => {
  const server = createServer((request, response) => {
    text(request).then(
      (body) => response.end(body),
      // The client of a request that did not arrive in time has no answer.
      () => {},
    );
  });
  const stop = gracefulStop(server, { running: 600_000, arriving: 100 });
  const { port } = await listenOn(server);
  const [inTime, late] = [
    await RawConnection.open(`http://127.0.0.1:${port}`),
    await RawConnection.open(`http://127.0.0.1:${port}`),
  ];
  for (const connection of [inTime, late]) {
    connection.post('/', 'half', { 'Content-Length': '8', Expect: '100-continue' });
    t.is((await connection.answer()).status, 100);
  }

  const stopped = stop();
  inTime.write('half');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  t.is((await inTime.answer()).body, 'halfhalf');
  await t.throwsAsync(late.answer(), { message: /^The connection was closed/ });
  await stopped;
});

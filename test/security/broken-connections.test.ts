import { once } from 'node:events';
import { connect } from 'node:net';
import { inspect } from 'node:util';

import test from '../harness/test.ts';

import { startPlatform } from '../harness/platform.ts';

const SECRET = 'a secret of this test only';
const HEAD =
  'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n';
const BODY = `client_secret=${SECRET}`;

test('a request that ends early, or is followed by bytes that are none, logs neither an error nor a secret', async (t) => {
  await using platform = await startPlatform({}, { app: ({ auth }) => auth.callback() });
  for (const bytes of [
    `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}${BODY}\r\n\r\n`,
    `${HEAD}Content-Length: 500\r\n\r\n${BODY}`,
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n${BODY}\r\n`,
  ]) {
    for (const end of ['end', 'resetAndDestroy'] as const) {
      const socket = connect(Number(new URL(platform.origin).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(bytes, () => socket[end]());
      socket.resume();
      await once(socket, 'close');
      // Connections are handled in order: after this response the server has handled the end of the other connection.
      t.is((await platform.token({ grant_type: 'none' })).status, 400);
    }
  }
  const { lines } = platform.logger;
  t.false(lines.some(({ level }) => level === 'error'));
  t.false(inspect(lines, { depth: 9, maxStringLength: null }).includes(SECRET));
  const bytesOfSecret = [...Buffer.from(SECRET)].join(',');
  t.false(JSON.stringify(lines, textOfErrors).includes(bytesOfSecret), 'nor as numbers');
});

/** Writes an error as loggers do: with all its properties. */
function textOfErrors(_name: string, value: unknown): unknown {
  return value instanceof Error ? Object.assign({}, value) : value;
}

import { once } from 'node:events';
import { connect } from 'node:net';
import { inspect } from 'node:util';

import test from 'ava';

import { startPlatform } from '../harness/platform.ts';

const SECRET = 'a secret that is typed nowhere else';
const HEAD =
  'POST /oauth/token HTTP/1.1\r\nHost: wire\r\nContent-Type: application/x-www-form-urlencoded\r\n';
const BODY = `client_secret=${SECRET}`;

/** Requests that break off or turn into something else while they are answered. */
const BROKEN: Readonly<Record<string, string>> = {
  'followed by what is no request': `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}${BODY}\r\n\r\n`,
  'that ends early': `${HEAD}Content-Length: 500\r\n\r\n${BODY}`,
  'with a chunk of no length': `${HEAD}Transfer-Encoding: chunked\r\n\r\n${BODY}\r\n`,
};

for (const [what, bytes] of Object.entries(BROKEN)) {
  for (const end of ['closed', 'reset'] as const) {
    test(`a request ${what}, on a connection that is ${end}, puts neither an error nor a secret in the log`, async (t) => {
      await using platform = await startPlatform({}, { app: ({ auth }) => auth.callback() });
      const socket = connect(Number(new URL(platform.origin).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(bytes, () => {
        if (end === 'closed') socket.end();
        else socket.resetAndDestroy();
      });
      socket.resume();
      await once(socket, 'close');
      // Connections are taken in turn: by the time that this is answered, the server knows of the end of the other one.
      t.is((await platform.token({ grant_type: 'none' })).status, 400);

      const { lines } = platform.logger;
      t.deepEqual(
        lines.filter(({ level }) => level === 'error'),
        [],
      );
      t.false(inspect(lines, { depth: 9, maxStringLength: null }).includes(SECRET));
      const bytesOfSecret = [...Buffer.from(SECRET)].join(',');
      t.false(JSON.stringify(lines, textOfErrors).includes(bytesOfSecret), 'nor number by number');
    });
  }
}

/** As loggers write an error: with all that was put on it. */
function textOfErrors(_name: string, value: unknown): unknown {
  return value instanceof Error ? Object.assign({}, value) : value;
}

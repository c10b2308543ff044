import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// None twice: a server may take its port some time after another one was given.
const given = new Set<number>();

/**
 * A free port of the loopback address, below those that the kernel gives to connections and to servers that take any: one of these could
 * have it before it is used.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_768);
  if (given.has(port)) return freePort();
  given.add(port);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return freePort();
    throw error;
  }
  server.close();
  await once(server, 'close');
  return port;
}

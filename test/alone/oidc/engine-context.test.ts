import { Agent, request } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import test from '../../harness/test.ts';

import { FORM, startTokenPlatform } from '../../oidc/token-platform.ts';

const REQUESTS = 400;

// Each is some 12 kB with its response, its client and its token.
const ALL_OF_THEM = REQUESTS * 12_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void;

/** In bytes: what has outlived two collections of the young generation, and has not been collected since. */
function oldGeneration(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size;
}

test('a token request leaves nothing in the old generation of the heap', async (t) => {
  t.timeout(120_000);
  await using server = await startTokenPlatform();
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const requestToken = async (): Promise<void> => {
    const headers = { 'content-type': FORM };
    const sent = request(server.endpoint, { method: 'POST', agent, headers }).end(server.goodForm);
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    t.is(response.statusCode, 200, await text(response));
  };
  const requestTokens = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 8) await Promise.all(Array.from({ length: 8 }, requestToken));
  };

  await requestTokens(REQUESTS);
  const left: number[] = [];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    collectGarbage({ type: 'major' });
    const before = oldGeneration();
    await requestTokens(REQUESTS);
    collectGarbage({ type: 'minor' });
    collectGarbage({ type: 'minor' });
    left.push(oldGeneration() - before);
  }
  agent.destroy();
  // The median, because V8 may collect the old generation in one of them.
  const [, bytes] = left.toSorted((one, other) => one - other);
  t.true(bytes! < ALL_OF_THEM / 4, `${left.join(', ')} bytes`);
});

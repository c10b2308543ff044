import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { getRequestListener } from '@hono/node-server';
import type { FastifyInstance } from 'fastify';
import type { Hono } from 'hono';
import test from '../harness/test.ts';

import { blocksOf, ROOT } from '../docs/guides.ts';
import { startPlatform } from '../harness/platform.ts';
import type { AppParts } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';

type Server = RequestListener | FastifyInstance | Hono;

/** Makes the `server` of an example, which uses `auth` of the lines before it. */
async function makeServer(code: string, auth: AppParts['auth']): Promise<Server> {
  // Inside the package, so that its name resolves, in a folder that git ignores.
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data/embedding-'));
  try {
    const imports = code.match(/^import .*$/gm) ?? [];
    const rest = code.replaceAll(/^import .*$/gm, '');
    const file = join(folder, 'example.ts');
    writeFileSync(
      file,
      `${imports.join('\n')}\nexport const make = (auth: any) => {${rest}\nreturn server;\n};\n`,
    );
    const { make } = (await import(pathToFileURL(file).href)) as { make: (auth: AppParts['auth']) => Server };
    return make(auth);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function listenerOf(server: Server): Promise<RequestListener> {
  if (typeof server === 'function') return server;
  if ('fetch' in server) {
    const listen = getRequestListener(async (request, env) => server.fetch(request, env));
    return (request, response) => void listen(request, response);
  }
  await server.ready();
  return (request, response) => server.routing(request, response);
}

const EXAMPLES = blocksOf('docs/embedding.md', 'ts')
  .map(({ code }) => code)
  .filter((code) => code.includes('auth.callback(') && /^const server = /m.test(code));

test('the guide has an example for each kind of server', (t) => {
  t.deepEqual(
    EXAMPLES.map((code) => /^const server = (?:new )?(\w+)/m.exec(code)![1]),
    ['express', 'fastify', 'Hono', 'express'],
  );
});

for (const [index, code] of EXAMPLES.entries()) {
  const [, name = ''] = /^const server = (?:new )?(\w+)/m.exec(code)!;
  test(`example ${index + 1}, of ${name}, serves the authorization server and guards its own routes`, async (t) => {
    await using platform = await startPlatform(
      {},
      { app: async ({ auth }) => listenerOf(await makeServer(code, auth)) },
    );
    const service = await platform.registerService(['view_schools']);
    const authorization = `Bearer ${await clientToken(platform, service)}`;
    for (const [path, isThere] of [
      ['/api/v1/identity', code.includes('createApiRouter(')],
      ['/schools', code.includes("'/schools'")],
      ['/mcp', code.includes('requireBearerAuth(')],
    ] as const) {
      t.is((await send(platform.url(path))).status, isThere ? 401 : 404, path);
      const allowed = await send(platform.url(path), { headers: { authorization } });
      // The example has no route behind the guard of the SDK.
      t.is(allowed.status, isThere && path !== '/mcp' ? 200 : 404, path);
    }
  });
}

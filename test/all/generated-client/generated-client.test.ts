import { join } from 'node:path';

import test from '../../harness/test.ts';

import { startForScripts, temporaryDirectory } from '../../examples/running-example.ts';
import { clientToken } from '../../examples/tokens.ts';
import { shared } from '../../harness/shared.ts';
import { ROOT } from '../package/manifest.ts';
import { referenceProgram } from '../package/reference.ts';
import { run } from '../package/run.ts';

const started = shared(async (stack) => {
  const directory = stack.use(await temporaryDirectory());
  const { announced } = stack.use(await startForScripts({ dataDirectory: directory.path }));
  return { announced, baseUrl: `${announced.base_url}/api/v1` };
});

/** What the client has done, see client.ts. It is typed by what is generated here, so no other program can import its types. */
interface Reopened {
  readonly created: { readonly id: string };
  readonly [answer: string]: unknown;
}

type ReopenSchool = (
  baseUrl: string,
  options: { readonly accessToken: string; readonly name: string; readonly key: string },
) => Promise<Reopened>;

test("a client compiles that is typed with what openapi-typescript generates from the example's description", async (t) => {
  const { baseUrl } = await started();
  const folder = import.meta.dirname;
  const generator = referenceProgram('openapi-typescript');
  const generated = await run(generator, [`${baseUrl}/openapi.json`, '--output', 'platform.d.ts'], folder);
  t.is(generated.code, 0, generated.errors);
  const compiled = await run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', folder], folder);
  t.deepEqual(compiled, { code: 0, output: '', errors: '' });
});

test('the client calls the example', async (t) => {
  const { announced, baseUrl } = await started();
  const path = new URL('client.ts', import.meta.url).href;
  const { reopenSchool } = (await import(path)) as { reopenSchool: ReopenSchool };
  const importer = announced.clients.find(({ name }) => name === 'Nightly import')!;
  const options = {
    accessToken: await clientToken(announced, importer.name),
    name: 'Canal School',
    key: 'c9f3a1d0',
  };
  const { created, ...answers } = await reopenSchool(baseUrl, options);
  t.deepEqual(created, { id: created.id, name: 'Canal School', city: 'Delft', open: true });
  t.deepEqual(answers, {
    caller: importer.client_id,
    renamed: { id: created.id, name: 'Canal School Two', city: 'Delft', open: true },
    refused: { status: 422, pointers: ['#/name', '#/city'] },
    bulk: { succeeded: 1, failed: 1, names: ['Canal School Three', 'school_not_found'] },
    found: ['Canal School Three'],
  });
  const again = await reopenSchool(baseUrl, options);
  t.is(again.created.id, created.id, 'the same key, the same school');
});

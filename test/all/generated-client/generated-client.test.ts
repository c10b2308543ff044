import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';

import { startForScripts, temporaryDirectory } from '../../examples/running-example.ts';
import { clientToken } from '../../examples/tokens.ts';

const directory = await temporaryDirectory();
const example = await startForScripts({ dataDirectory: directory.path });
const { announced } = example;
const baseUrl = `${announced.base_url}/api/v1`;

test.after.always(async () => {
  await example.stop();
  await directory[Symbol.asyncDispose]();
});

/** Runs the command of a package. */
async function run(program: string, ...given: string[]): Promise<string> {
  const path = join(import.meta.dirname, program);
  const { stdout } = await promisify(execFile)(process.execPath, [path, ...given], { maxBuffer: 10_000_000 });
  return stdout;
}

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
  const types = join(import.meta.dirname, 'platform.d.ts');
  await run(
    '../../../docs/reference/node_modules/openapi-typescript/bin/cli.js',
    `${baseUrl}/openapi.json`,
    '--output',
    types,
  );
  t.is(await run('../../../node_modules/typescript/bin/tsc', '--project', import.meta.dirname), '');
});

test('the client calls the example', async (t) => {
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

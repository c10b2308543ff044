import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import test from 'ava';

import { startForScripts, temporaryDirectory } from '../examples/running-example.ts';
import { clientToken } from '../examples/tokens.ts';
import { reopenSchool } from './client.ts';

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

test("platform.d.ts is what openapi-typescript generates from the example's description", async (t) => {
  const made = await run('node_modules/openapi-typescript/bin/cli.js', `${baseUrl}/openapi.json`);
  t.is(
    made,
    await readFile(join(import.meta.dirname, 'platform.d.ts'), 'utf8'),
    'generate it again: npm start, then in test/generated-client npx openapi-typescript http://localhost:3000/api/v1/openapi.json --output platform.d.ts',
  );
});

test('a client typed with it compiles', async (t) => {
  t.is(await run('../../node_modules/typescript/bin/tsc', '--project', import.meta.dirname), '');
});

test('the client calls the example', async (t) => {
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

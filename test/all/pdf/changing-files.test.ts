import { existsSync, openAsBlob } from 'node:fs';
import {
  appendFile,
  mkdtemp,
  readdir,
  readlink,
  rename,
  rm,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { PdfInput } from 'koa-gatehouse/pdf';

import { clientOf, errorOf } from './clients.ts';
import { TREE, answer, faultServer, formOf, json } from './fault-server.ts';
import type { FaultServer, Reply } from './fault-server.ts';
import { endWith } from '../../harness/serve.ts';

// More than the buffers between client and server hold, so that the file is still being read when it changes.
const BYTES = Buffer.alloc(24_000_000, '%PDF-1.7 ');

async function makeFile(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-changing-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'a.pdf');
  await writeFile(path, BYTES);
  return path;
}

/** Sends a file that is changed when its upload has begun; until then, the server does not read. */
async function sendChanging(
  t: ExecutionContext,
  input: PdfInput,
  change: () => Promise<void>,
  ...replies: readonly [Reply, ...Reply[]]
): Promise<{ service: FaultServer; sent: Promise<object> }> {
  const changed = Promise.withResolvers<void>();
  const [first, ...others] = replies;
  const service = await faultServer(
    async (...exchange) => {
      await changed.promise;
      await first(...exchange);
    },
    ...others,
  );
  endWith(t, service);
  let begun = false;
  const sent = clientOf(service).extract(input, {
    onUploadProgress() {
      if (!begun) void change().then(changed.resolve);
      begun = true;
    },
  });
  return { service, sent };
}

for (const [what, change, open = (path: string): PdfInput | Promise<PdfInput> => path] of [
  ['a file that is shortened', (path: string) => truncate(path, 1000)],
  ['a file that is extended', (path: string) => appendFile(path, 'more')],
  ['a file that is written anew', (path: string) => writeFile(path, BYTES.toReversed())],
  ['a Blob whose file is shortened', (path: string) => truncate(path, 1000), openAsBlob],
] as const) {
  test(`${what} during the upload is an error`, async (t) => {
    const path = await makeFile(t);
    const { sent, service } = await sendChanging(t, await open(path), () => change(path), json(TREE));
    const error = await errorOf(sent);
    t.like(error, { code: 'ERR_PDF_UNREADABLE', attempts: 1 });
    t.is(
      error.message,
      open === openAsBlob
        ? 'The PDF cannot be read completely. The file of the Blob may have changed.'
        : `The PDF at ${path} changed while it was sent. Send it again.`,
    );
    for (const { body } of service.received) t.is(body.byteLength, 0, 'the request was complete');
  });
}

for (const [what, change] of [
  ['removed', (path: string) => unlink(path)],
  [
    'replaced',
    async (path: string) => {
      await writeFile(`${path}.new`, 'something else');
      await rename(`${path}.new`, path);
    },
  ],
] as const) {
  test(`a file that is ${what} during the upload is sent as it was opened, by a second attempt too`, async (t) => {
    const path = await makeFile(t);
    const { sent, service } = await sendChanging(t, path, () => change(path), answer(503, ''), json(TREE));
    t.deepEqual(await sent, TREE);
    t.is(service.received.length, 2);
    t.true((await formOf(service.received[1]!)).bytes.equals(BYTES));
  });
}

test('a file is closed after the call, whatever its outcome', async (t) => {
  const path = await makeFile(t);
  await using service = await faultServer(answer(503, ''), json(TREE), answer(422, ''), (request) =>
    request.socket.destroy(),
  );
  const client = clientOf(service, { retries: 1 });
  await client.extract(path);
  await errorOf(client.extract(path));
  await errorOf(client.extract(path));
  await t.throwsAsync(client.extract(path, { signal: AbortSignal.timeout(1) }), { name: 'TimeoutError' });
  await errorOf(client.renderStream(path));
  t.deepEqual(await openFilesAt(path), []);
  await truncate(path);
  t.is((await errorOf(client.extract(path))).message, 'The PDF is empty.');
  t.deepEqual(await openFilesAt(path), []);
});

/** The open files of this process with the path, if the system lists them. */
async function openFilesAt(path: string): Promise<string[]> {
  if (!existsSync('/proc/self/fd')) return [];
  const open = await Promise.all(
    (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  );
  return open.filter((name) => name === path);
}

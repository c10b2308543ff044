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

import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { PdfCallOptions } from 'koa-gatehouse/pdf';

import { clientOf, errorOf } from './clients.ts';
import { TREE, answer, faultServer, formOf, json } from './fault-server.ts';

// More than the buffers between client and server hold, so that the file is still being read when it changes.
const BYTES = Buffer.alloc(24_000_000, '%PDF-1.7 ');

async function makeFile(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-changing-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'a.pdf');
  await writeFile(path, BYTES);
  return path;
}

/** Calls `change` once when the upload has begun; until `release`, the server does not read. */
function onFirstProgress(change: () => Promise<void>, release: () => void): PdfCallOptions {
  let begun = false;
  return {
    onUploadProgress() {
      if (begun) return;
      begun = true;
      void change().then(release);
    },
  };
}

for (const [what, change] of Object.entries({
  shortened: (path: string) => truncate(path, 1000),
  extended: (path: string) => appendFile(path, 'more'),
  'written anew': (path: string) => writeFile(path, BYTES.toReversed()),
})) {
  test(`a file that is ${what} during the upload is an error`, async (t) => {
    const path = await makeFile(t);
    const changed = Promise.withResolvers<void>();
    await using service = await faultServer(async (...exchange) => {
      await changed.promise;
      await json(TREE)(...exchange);
    });
    const options = onFirstProgress(() => change(path), changed.resolve);
    const error = await errorOf(clientOf(service).extract(path, options));
    t.is(error.code, 'ERR_PDF_UNREADABLE');
    t.is(error.message, `The PDF at ${path} changed while it was sent. Send it again.`);
    t.is(error.attempts, 1);
    t.is(service.received.length, 1);
    t.is(service.received[0]!.body.byteLength, 0, 'the server received a complete request');
  });
}

for (const [what, change] of Object.entries({
  removed: (path: string) => unlink(path),
  replaced: async (path: string) => {
    await writeFile(`${path}.new`, 'something else');
    await rename(`${path}.new`, path);
  },
})) {
  test(`a file that is ${what} during the upload is sent as it was opened, by a second attempt too`, async (t) => {
    const path = await makeFile(t);
    const changed = Promise.withResolvers<void>();
    const unavailable = answer(503, '');
    await using service = await faultServer(async (...exchange) => {
      await changed.promise;
      await unavailable(...exchange);
    }, json(TREE));
    const options = onFirstProgress(() => change(path), changed.resolve);
    t.deepEqual(await clientOf(service).extract(path, options), TREE);
    t.is(service.received.length, 2);
    t.true((await formOf(service.received[1]!)).bytes.equals(BYTES));
  });
}

test('a Blob whose file changes during the upload is an error', async (t) => {
  const path = await makeFile(t);
  const changed = Promise.withResolvers<void>();
  await using service = await faultServer(async (...exchange) => {
    await changed.promise;
    await json(TREE)(...exchange);
  });
  const options = onFirstProgress(() => truncate(path, 1000), changed.resolve);
  const error = await errorOf(clientOf(service).extract(await openAsBlob(path), options));
  t.is(error.code, 'ERR_PDF_UNREADABLE');
  t.is(error.message, 'The PDF cannot be read completely. The file of the Blob may have changed.');
  t.is(error.attempts, 1);
});

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
});

test('an empty file is closed, and nothing is sent', async (t) => {
  const path = await makeFile(t);
  await truncate(path);
  await using service = await faultServer(json(TREE));
  t.is((await errorOf(clientOf(service).extract(path))).message, 'The PDF is empty.');
  t.is(service.received.length, 0);
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

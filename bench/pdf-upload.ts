// The memory and time of a large upload in the sending process, by form of input. Run by hand, it takes some seconds:
//   npx node --conditions=gatehouse:source bench/pdf-upload.ts [megabytes]
import { execFileSync, spawn } from 'node:child_process';
import { createReadStream, openAsBlob } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { PdfClient } from 'koa-gatehouse/pdf';
import type { PdfInput } from 'koa-gatehouse/pdf';

const INPUTS: Readonly<Record<string, (path: string) => PdfInput | Promise<PdfInput>>> = {
  path: (path) => path,
  blob: (path) => openAsBlob(path),
  stream: (path) => createReadStream(path),
};
/** The pause of the service after each 16 MiB, in milliseconds. */
const SERVICES: Readonly<Record<string, number>> = { fast: 0, slow: 50 };

const [role, ...words] = process.argv.slice(2);
if (role === 'service') serve(Number(words[0]));
else if (role === 'client') await send(words[0]!, words[1]!, words[2]!);
else await compare(Number(role ?? 500));

/** Runs each upload in its own process, so that its memory can be measured. */
async function compare(megabytes: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upload-'));
  const path = join(folder, 'large.pdf');
  const results: Record<string, unknown> = {};
  try {
    const file = await open(path, 'w');
    await file.truncate(megabytes * 1_000_000);
    await file.close();
    for (const speed of Object.keys(SERVICES)) {
      for (const input of Object.keys(INPUTS)) {
        const script = [...process.execArgv, import.meta.filename, 'client', speed, input, path];
        results[`${megabytes} MB, ${speed} service, ${input}`] = JSON.parse(
          execFileSync(process.execPath, script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
        );
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  console.table(results);
}

async function send(speed: string, input: string, path: string): Promise<void> {
  const script = [...process.execArgv, import.meta.filename, 'service', String(SERVICES[speed])];
  const service = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [address] = await service.stdout.take(1).toArray();
    const client = new PdfClient({ baseUrl: String(address).trim() });
    const begun = performance.now();
    const { received } = await client.extract(await INPUTS[input]!(path));
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    const peak = Math.round(process.resourceUsage().maxRSS / 1000);
    console.log(JSON.stringify({ 'received (bytes)': received, seconds, 'peak RSS (MB)': peak }));
  } finally {
    service.kill();
  }
}

function serve(pause: number): void {
  const server = createServer((request, response) => {
    void receive(request, pause).then((received) => response.end(JSON.stringify({ received })));
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

async function receive(request: AsyncIterable<Buffer>, pause: number): Promise<number> {
  let received = 0;
  let sincePause = 0;
  for await (const chunk of request) {
    received += chunk.byteLength;
    sincePause += chunk.byteLength;
    if (pause === 0 || sincePause < 16 * 1024 * 1024) continue;
    sincePause = 0;
    await delay(pause);
  }
  return received;
}

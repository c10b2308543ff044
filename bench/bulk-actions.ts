// Renames 10,000 schools of the example server in bulks of 1,000, in each mode, one bulk after the other.
// npx node --conditions=gatehouse:source bench/bulk-actions.ts
import { readFileSync, writeFileSync } from 'node:fs';

import { startForScripts, temporaryDirectory } from '../test/examples/running-example.ts';
import { clientToken } from '../test/examples/tokens.ts';

const SCHOOLS = 10_000;
const BULK = 1000;

await using directory = await temporaryDirectory();
await using example = await startForScripts({ dataDirectory: directory.path });
const { announced, process: server } = example;
const token = await clientToken(announced, 'Nightly import');

const results: Record<string, Record<string, string>> = {
  before: await measure(async () => {}),
};
const ids = await createSchools();
for (const [name, mode, headers] of [
  ['independent', 'independent', {}],
  ['atomic', 'atomic', {}],
  ['lines', 'independent', { accept: 'application/x-ndjson' }],
  ['with a key', 'independent', { 'idempotency-key': 'bench' }],
] as const) {
  await renameAll(name, mode, headers); // warm
  results[name] = await measure(async () => renameAll(name, mode, headers));
}
results['one by one'] = await measure(renameOneByOne);
console.table(results);

async function createSchools(): Promise<string[]> {
  const created: string[] = [];
  for (let from = 0; from < SCHOOLS; from += BULK) {
    const items = Array.from({ length: BULK }, (_, index) => ({
      input: { name: `School ${from + index}`, city: 'Bench' },
    }));
    const answer = await post('/create-school-action/bulk', { mode: 'atomic', items });
    const { data } = JSON.parse(answer) as { data: { results: { output: { id: string } }[] } };
    created.push(...data.results.map(({ output }) => output.id));
  }
  return created;
}

async function renameAll(name: string, mode: string, headers: Record<string, string>): Promise<void> {
  for (let from = 0; from < SCHOOLS; from += BULK) {
    const items = ids
      .slice(from, from + BULK)
      .map((id) => ({ id, input: { name: `${name} ${Math.random()}` } }));
    const own = headers['idempotency-key'] && { 'idempotency-key': crypto.randomUUID() };
    const answer = await post('/rename-school-action/bulk', { mode, items }, { ...headers, ...own });
    if (!answer.includes(`"succeeded":${BULK},"failed":0`)) throw new Error(answer.slice(0, 500));
  }
}

async function renameOneByOne(): Promise<void> {
  for (const id of ids) await post(`/${id}/rename-school-action`, { name: `One ${Math.random()}` });
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${announced.base_url}/api/v1/actions/school${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text;
}

async function measure(run: () => Promise<void>): Promise<Record<string, string>> {
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5'); // resets the peak (proc(5))
  const [cpuBefore, startedAt] = [cpuSeconds(), performance.now()];
  await run();
  const seconds = (performance.now() - startedAt) / 1000;
  if (seconds < 0.1) return { 'peak RSS, MB': peak() };
  return {
    'items/s': Math.round(SCHOOLS / seconds).toString(),
    'server CPU, us/item': Math.round(((cpuSeconds() - cpuBefore) / SCHOOLS) * 1e6).toString(),
    'peak RSS, MB': peak(),
  };
}

function peak(): string {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(proc('status'))![1]) / 1024).toString();
}

function cpuSeconds(): number {
  const fields = proc('stat').slice(proc('stat').lastIndexOf(')')).split(' ');
  return (Number(fields[12]) + Number(fields[13])) / 100;
}

function proc(file: string): string {
  return readFileSync(`/proc/${server.pid}/${file}`, 'utf8');
}

// Renames a school of the example server 1,000 times as an action of the API, and as a tool for each generation of agents, in turns.
// npx node --conditions=gatehouse:source bench/agent-calls.ts
import { readFileSync } from 'node:fs';

import { startForScripts, temporaryDirectory } from '../test/examples/running-example.ts';
import { clientToken } from '../test/examples/tokens.ts';

const CALLS = 1000;
const TURNS = 4;

await using directory = await temporaryDirectory();
await using example = await startForScripts({ dataDirectory: directory.path });
const { announced, process: server } = example;
const tools = `${announced.base_url}/mcp`;
const ofApi = await clientToken(announced, 'Nightly import');
const ofTools = await clientToken(announced, 'Nightly import', tools);

/** A way to rename a school. */
type Rename = (name: string) => Promise<string>;

const ways: Readonly<Record<string, Rename>> = {
  'POST /api/v1/actions': async (name) =>
    post(`${announced.base_url}/api/v1/actions/school/harbour/rename-school-action`, ofApi, { name }),
  'a tool, 2026-07-28': async (name) =>
    post(
      tools,
      ofTools,
      {
        ...callOf(name),
        params: {
          ...callOf(name).params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'rename_school' },
    ),
  'a tool, 2025-11-25': async (name) =>
    post(tools, ofTools, callOf(name), { 'mcp-protocol-version': '2025-11-25' }),
};

const seconds = new Map(Object.keys(ways).map((way) => [way, 0]));
for (let turn = 0; turn <= TURNS; turn += 1) {
  for (const [way, rename] of Object.entries(ways)) {
    const before = cpuSeconds();
    for (let count = 0; count < CALLS / TURNS; count += 1) await rename(`School ${turn} ${count}`);
    // The first turn warms up.
    if (turn > 0) seconds.set(way, seconds.get(way)! + cpuSeconds() - before);
  }
}
const [first = 0] = seconds.values();
console.table(
  Object.fromEntries(
    Array.from(seconds, ([way, used]) => [
      way,
      { 'server CPU, us/call': Math.round((used / CALLS) * 1e6), ratio: (used / first).toFixed(2) },
    ]),
  ),
);

function callOf(name: string) {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'rename_school', arguments: { id: 'harbour', input: { name } } },
  };
}

async function post(
  url: string,
  token: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200 || text.includes('isError')) throw new Error(text);
  return text;
}

function cpuSeconds(): number {
  const stat = readFileSync(`/proc/${server.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')')).split(' ');
  return (Number(fields[12]) + Number(fields[13])) / 100;
}

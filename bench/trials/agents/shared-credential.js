// A session of the SDK, of either generation, that stores its credential in a file beside other sessions: for each line of its input it
// lists the tools, and prints `listed`, `failed`, or where to authorize it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { startProvider } from './provider.js';

const [, , address, generation, file] = process.argv;
const url = new URL(address);
const { Client, StreamableHTTPClientTransport } =
  generation === '2.4'
    ? await import('@modelcontextprotocol/client')
    : {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      };

function read() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

function store(member, value) {
  const written = `${file}.${process.pid}`;
  writeFileSync(written, JSON.stringify({ ...read(), [member]: value }));
  renameSync(written, file);
}

async function list() {
  const { authorized, close, provider } = await startProvider('SDK');
  const authProvider = Object.assign(provider, {
    clientInformation: () => read().client,
    saveClientInformation: (client) => store('client', client),
    tokens: () => read().tokens,
    saveTokens: (tokens) => store('tokens', tokens),
  });
  const listOnce = async () => {
    const client = new Client({ name: 'session', version: '1' });
    const transport = new StreamableHTTPClientTransport(url, { authProvider });
    try {
      await client.connect(transport);
      await client.listTools();
    } catch (error) {
      if (error?.constructor?.name !== 'UnauthorizedError') throw error;
      const parameters = await authorized();
      await transport.finishAuth(generation === '2.4' ? parameters : parameters.get('code'));
      return false;
    } finally {
      await client.close();
    }
    return true;
  };
  try {
    if (!(await listOnce())) await listOnce();
  } finally {
    close();
  }
}

for await (const _line of createInterface(process.stdin)) {
  await list().then(
    () => console.log('listed'),
    (error) => console.log(`failed: ${error.message}`),
  );
}

// The clients of the SDK, of each generation, with their own OAuth: prints where to authorize it, then its results as JSON.
import { startProvider } from './provider.js';

const [, , address, name, generation] = process.argv;
const url = new URL(address);

/** The client and the transport of a generation: the packages have other names and entry points. */
const GENERATIONS = {
  1.12: async () => ({
    ...(await import('mcp-sdk-1.12/client/index.js')),
    ...(await import('mcp-sdk-1.12/client/streamableHttp.js')),
  }),
  1.32: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
  }),
  2.4: async () => import('@modelcontextprotocol/client'),
};
const { Client, StreamableHTTPClientTransport } = await GENERATIONS[generation]();

const { authorized, provider: authProvider } = await startProvider(`SDK ${generation} client`);
const open = () => new StreamableHTTPClientTransport(url, { authProvider });
const first = open();
try {
  await new Client({ name: 'sdk-client', version: '1' }).connect(first);
} catch (error) {
  if (error?.constructor?.name !== 'UnauthorizedError') throw error;
}
const parameters = await authorized();
// The newer one compares the issuer too (RFC 9207).
await first.finishAuth(generation === '2.4' ? parameters : parameters.get('code'));

const client = new Client({ name: 'sdk-client', version: '1' });
const transport = open();
await client.connect(transport);

const call = (tool, given) => client.callTool({ name: tool, arguments: given });
const { tools } = await client.listTools();
const renamed = await call('rename_school', { id: 'harbour', input: { name } });
const wrong = await call('rename_school', { id: 'harbour', input: { name: '' } });
const unknown = await call('burn_school', {}).catch(({ code, message }) => ({ code, message }));
await client.close();
console.log(JSON.stringify({ revision: transport.protocolVersion, tools, renamed, wrong, unknown }));

// The client of the revisions of 2025, with its own OAuth: prints where to authorize it, then its results as JSON.
import { once } from 'node:events';
import { createServer } from 'node:http';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const url = new URL(process.argv[2]);

const listener = createServer().listen(0, '127.0.0.1');
await once(listener, 'listening');
const redirectUrl = `http://127.0.0.1:${listener.address().port}/callback`;

const stored = {};
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'SDK client',
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => stored.client,
  saveClientInformation(client) {
    stored.client = client;
  },
  tokens: () => stored.tokens,
  saveTokens(tokens) {
    stored.tokens = tokens;
  },
  redirectToAuthorization: (address) => console.log(`Authorize at ${address.href}`),
  saveCodeVerifier(verifier) {
    stored.verifier = verifier;
  },
  codeVerifier: () => stored.verifier,
};

const open = () => new StreamableHTTPClientTransport(url, { authProvider });
const first = open();
const redirected = once(listener, 'request');
try {
  await new Client({ name: 'sdk-client', version: '1' }).connect(first);
} catch (error) {
  if (error?.constructor?.name !== 'UnauthorizedError') throw error;
}
const [request, response] = await redirected;
response.end('done');
listener.close();
await first.finishAuth(new URL(request.url, redirectUrl).searchParams.get('code'));

const client = new Client({ name: 'sdk-client', version: '1' });
const transport = open();
await client.connect(transport);

const call = (name, given) => client.callTool({ name, arguments: given });
const { tools } = await client.listTools();
const renamed = await call('rename_school', { id: 'harbour', input: { name: process.argv[3] } });
const wrong = await call('rename_school', { id: 'harbour', input: { name: '' } });
const unknown = await call('burn_school', {}).catch(({ code, message }) => ({ code, message }));
await client.close();
console.log(JSON.stringify({ revision: transport.protocolVersion, tools, renamed, wrong, unknown }));

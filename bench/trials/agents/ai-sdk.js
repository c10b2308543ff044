// @ai-sdk/mcp: prints where to authorize it, then its results as JSON.
import { auth, createMCPClient } from '@ai-sdk/mcp';

import { startProvider } from './provider.js';

const [, , serverUrl, name] = process.argv;
const { authorized, provider } = await startProvider('AI SDK');
await auth(provider, { serverUrl });
const parameters = await authorized();
await auth(provider, {
  serverUrl,
  authorizationCode: parameters.get('code'),
  callbackState: parameters.get('state') ?? undefined,
});

const client = await createMCPClient({ transport: { type: 'http', url: serverUrl, authProvider: provider } });
const { tools } = await client.listTools();
const named = await client.tools();
const options = { toolCallId: '1', messages: [] };
const renamed = await named.rename_school.execute({ id: 'harbour', input: { name } }, options);
await client.close();
console.log(JSON.stringify({ tools, renamed }));

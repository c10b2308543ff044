// @langchain/mcp-adapters: authorizes with the SDK that it depends on, then prints its results as JSON.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';

import { startProvider } from './provider.js';

const [, , url, name] = process.argv;
const { authorized, provider: authProvider } = await startProvider('LangChain');
await auth(authProvider, { serverUrl: url });
const parameters = await authorized();
await auth(authProvider, { serverUrl: url, authorizationCode: parameters.get('code') });

const client = new MultiServerMCPClient({
  useStandardContentBlocks: true,
  mcpServers: { schools: { transport: 'http', url, authProvider } },
});
const tools = await client.getTools();
const rename = tools.find((tool) => tool.name.endsWith('rename_school'));
const said = await rename.invoke({ id: 'harbour', input: { name } });
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => ({ name: tool.name })), said }));

import test from '../harness/test.ts';
import { Client, CrossAppAccessProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { trustedIssuers } from 'koa-gatehouse';

import { startAgentServer } from '../mcp/agents.ts';
import type { AgentServer } from '../mcp/agents.ts';
import { IDP, idJag, issuerKeys } from './identity-provider.ts';

test('the CrossAppAccessProvider of the MCP SDK connects to the tools', async (t) => {
  const feature = trustedIssuers({
    [IDP]: {
      profile: 'id-jag',
      keys: { keys: [(await issuerKeys()).publicJwk] },
      scopes: ['read'],
      findUser: () => server.person,
    },
  });
  const server: AgentServer = await startAgentServer(t, { options: { features: [feature] } });
  const { client, secret } = await server.auth.clients.create({
    name: 'Agent',
    grantType: 'authorization_code',
    redirectUris: ['https://agent.example/callback'],
  });
  const asked: string[] = [];
  const authProvider = new CrossAppAccessProvider({
    clientId: client.id,
    clientSecret: secret!.value,
    expectedIssuer: server.auth.issuer,
    async assertion({ authorizationServerUrl: aud, resourceUrl: resource }) {
      // An identity provider takes both from the token exchange, unchanged.
      asked.push(aud, resource);
      return idJag(server, { client }, { aud, resource, scope: 'read' });
    },
  });
  const agent = new Client({ name: 'agent', version: '1' });
  await agent.connect(new StreamableHTTPClientTransport(new URL(server.url), { authProvider }));
  const { tools } = await agent.listTools();
  t.true(tools.length > 0);
  t.deepEqual(asked, [server.auth.issuer, server.url]);
  await agent.close();
  t.deepEqual((await server.auth.userGrants.list('ann')).clients[0]!.allowedBy, ['idp.district.example']);
});

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import test from '../harness/test.ts';

import { Agent } from '../harness/agent.ts';
import { Browser } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { serveExample } from './served-example.ts';

/*
 * An agent that knows only the URL of the endpoint renames a school: the challenge leads it to the server, and the user to the
 * login page and the consent page. Disconnecting the agent stops its next call.
 */
const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const URL_OF_TOOLS = new URL(`${announced.base_url}/mcp`);
  const app = announced.clients.find(({ name }) => name === 'Command line')!;
  const registered = {
    client_id: app.client_id,
    client_secret: app.client_secret,
    issuer: announced.base_url,
  };
  return { announced, URL_OF_TOOLS, app, registered };
});

async function transportOf(agent: Agent): Promise<StreamableHTTPClientTransport> {
  const { URL_OF_TOOLS } = await started();
  return new StreamableHTTPClientTransport(URL_OF_TOOLS, { authProvider: agent });
}

for (const [what, appName, isRegistered] of [
  ['a registered agent', 'Command line', true],
  ['an agent that nobody registered', '“Agent”', false],
] as const) {
  test.serial(
    `${what} gets from the URL of the endpoint to a renamed school, until the user disconnects it`,
    async (t) => {
      const { app, registered, URL_OF_TOOLS, announced } = await started();
      const agent = new Agent(app.redirect_uris[0]!, {
        metadata: { token_endpoint_auth_method: 'none' },
        registered: isRegistered ? registered : undefined,
      });
      const options = { versionNegotiation: { mode: 'auto' as const } };
      const first = await transportOf(agent);
      await t.throwsAsync(new Client({ name: 'agent', version: '1' }, options).connect(first), {
        instanceOf: UnauthorizedError,
      });
      t.is(agent.authorizationUrl?.searchParams.get('resource'), URL_OF_TOOLS.href);
      t.is(agent.authorizationUrl?.searchParams.get('scope'), 'schools:read schools:write schools:close');

      const user = announced.users.find(({ permissions }) => permissions.includes('edit_schools'))!;
      const browser = new Browser();
      const login = await browser.open(agent.authorizationUrl!);
      let page = await signIn(browser, login, user.login, user.password);
      t.true(page.text.includes('Larkfield schools for agents'));
      const all = page.answersOf('Authorize').find(({ label }) => label === 'All')!;
      page = await browser.follow(await browser.submit(page, 'Authorize', { [all.name]: all.value }));
      await first.finishAuth((page.location ?? page.url).searchParams);

      const client = new Client({ name: 'agent', version: '1' }, options);
      await client.connect(await transportOf(agent));
      t.is(client.getNegotiatedProtocolVersion(), '2026-07-28');
      const { tools } = await client.listTools();
      t.deepEqual(
        tools.map(({ name }) => name),
        ['list_schools', 'create_school', 'rename_school', 'close_school'],
      );
      const found = await client.callTool({
        name: 'list_schools',
        arguments: { input: { search: 'harbour' } },
      });
      const [school] = (found.structuredContent as { schools: { id: string; name: string }[] }).schools;
      const renamed = await client.callTool({
        name: 'rename_school',
        arguments: { id: school!.id, input: { name: `Harbour School of ${appName}` } },
      });
      t.like(renamed.structuredContent, { id: school!.id, name: `Harbour School of ${appName}` });

      const apps = await browser.open(new URL(`${announced.base_url}/account/apps`));
      const link = /href="([^"]+apps\/[^/"]+\/revoke)"/.exec(apps.html)![1]!;
      const question = await browser.open(new URL(link, apps.url));
      t.is(question.heading, `Disconnect ${appName} ?`);
      await browser.submit(question, 'Disconnect');
      agent.stored = { ...agent.stored!, refresh_token: undefined };
      await t.throwsAsync(client.callTool({ name: 'list_schools', arguments: {} }), {
        instanceOf: UnauthorizedError,
      });
      await client.close();
    },
  );
}

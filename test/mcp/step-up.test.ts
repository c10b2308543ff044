import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { agents } from 'koa-gatehouse';

import { serveDocument } from '../agents/documents.ts';
import { Agent } from '../harness/agent.ts';
import { Browser } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { GENERATIONS, schoolsWithoutFailure, startAgentServer } from './agents.ts';
import type { AgentServer } from './agents.ts';

const [NEW, OLD] = GENERATIONS.map(([, mode]) => mode);
const ON_DEVICE = 'http://127.0.0.1:33418/callback';
const ON_THE_WEB = 'https://agent.example/callback';

async function start(t: ExecutionContext): Promise<AgentServer> {
  const schools = schoolsWithoutFailure();
  const server = await startAgentServer(t, { ...ON_LOOPBACK, schools, options: { features: [agents()] } });
  server.person.permissions = ['view_schools', 'edit_schools'];
  return server;
}

/** Four agents: how each of them is known, and the protocol that it speaks. */
const AGENTS = [
  {
    title: 'an agent on the device, known by its metadata document',
    mode: NEW,
    make: async (t: ExecutionContext) => {
      const { id } = await serveDocument(t, { redirect_uris: ['http://127.0.0.1/callback'] });
      return new Agent(ON_DEVICE, { url: id });
    },
  },
  {
    title: 'an agent on the device that registers itself, of 2025',
    mode: OLD,
    make: async () => new Agent(ON_DEVICE, { metadata: { token_endpoint_auth_method: 'none' } }),
  },
  {
    title: 'an agent on the web that registers itself and gets a secret',
    mode: NEW,
    make: async () =>
      new Agent(ON_THE_WEB, { metadata: { token_endpoint_auth_method: 'client_secret_basic' } }),
  },
  {
    title: 'an agent on the web that the platform has registered, of 2025',
    mode: OLD,
    make: async (_t: ExecutionContext, { auth, clientId }: AgentServer) => {
      const { value } = await auth.clients.addSecret(clientId);
      return new Agent(ON_THE_WEB, { registered: { client_id: clientId, client_secret: value } });
    },
  },
] as const;

for (const { make, mode, title } of AGENTS) {
  test(`${title}: the user declines writing, is asked once when the agent calls a tool that writes, and it succeeds`, async (t) => {
    const server = await start(t);
    const agent = await make(t, server);
    const browser = new Browser();
    const asked: string[] = [];
    const open = (): StreamableHTTPClientTransport =>
      new StreamableHTTPClientTransport(new URL(server.url), { authProvider: agent });

    /** Connects, and lets the user answer when the agent asks for it. */
    async function run<R>(use: (client: Client) => Promise<R>, decision: 'Only look' | 'All'): Promise<R> {
      const transport = open();
      const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: mode! } });
      t.teardown(async () => client.close());
      try {
        await client.connect(transport);
        return await use(client);
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
        await transport.finishAuth(await authorize(decision));
        return run(use, decision);
      }
    }

    async function authorize(decision: 'Only look' | 'All'): Promise<URLSearchParams> {
      const url = agent.authorizationUrl!;
      asked.push(url.searchParams.get('scope')!);
      const first = await browser.open(url);
      const page = first.html.includes('type="password"') ? await signIn(browser, first) : first;
      const answers = page.answersOf('Authorize');
      t.deepEqual(
        answers.map(({ label }) => label),
        ['Only look', 'All', 'Choose'],
      );
      t.regex(page.text, /To change something Change schools Rename a school, List schools, Create a school/);
      const { name, value } = answers.find(({ label }) => label === decision)!;
      const answer = await browser.submit(page, 'Authorize', { [name]: value });
      return (await browser.follow(answer)).location!.searchParams;
    }

    const listed = await run(async (client) => client.listTools(), 'Only look');
    t.deepEqual(asked, ['read write close manage']);
    t.deepEqual(
      listed.tools.map(({ name }) => name),
      ['rename_school', 'school_list', 'create_school'],
      'those that another scope would allow are listed, and those without a permission are not',
    );
    const rename = { name: 'rename_school', arguments: { id: '1', input: { name: 'Dale School' } } };
    const { structuredContent } = await run(async (client) => client.callTool(rename), 'All');
    t.deepEqual(structuredContent, { id: '1', name: 'Dale School' });
    t.is(server.schools.all.get('1'), 'Dale School');
    t.deepEqual(asked.slice(1), ['read write'], 'the user was asked once more');
    await run(async (client) => client.callTool(rename), 'All');
    t.is(asked.length, 2);
  });
}

test('an agent of a user without the permission is not told of the tool, and nobody is asked', async (t) => {
  const server = await start(t);
  server.person.permissions = ['view_schools'];
  const token = await server.token(['read']);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: NEW! } });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
  t.teardown(async () => client.close());
  const { tools } = await client.listTools();
  t.deepEqual(
    tools.map(({ name }) => name),
    ['school_list'],
  );
  const result = await client.callTool({ name: 'rename_school', arguments: {} });
  t.like(result, { isError: true, content: [{ text: 'Missing permission to edit schools.' }] });
});

/**
 * Programs that nobody here wrote connect to the example server and use its tools: they discover it, register themselves, send
 * the user to the pages, and call. Prints a transcript in Markdown. Installs the programs from npm into a temporary folder.
 *
 *     npm run trial -- agents.ts
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { startForScripts } from '../../test/examples/running-example.ts';
import { clientToken } from '../../test/examples/tokens.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { postJson, send } from '../../test/harness/requests.ts';
import { COMMON_AGENTS } from '../../test/agents/common-agents.ts';
import { runConformance } from './agents-conformance.ts';
import { installAgents } from './agents-install.ts';
import { startAgent } from './agents-program.ts';
import { expect, Transcript } from './agents-transcript.ts';
import { AgentUser } from './agents-user.ts';
import { temporaryFolder } from './servers.ts';

const SDKS = [
  ['1.12', 'mcp-sdk-1.12'],
  ['1.32', '@modelcontextprotocol/sdk'],
  ['2.4', '@modelcontextprotocol/client'],
] as const;
const FRAMEWORKS = [
  ['@ai-sdk/mcp', 'ai-sdk.js'],
  ['@langchain/mcp-adapters', 'langchain.js'],
] as const;
const INSPECTOR = '@modelcontextprotocol/inspector';
const CONFORMANCE = '@modelcontextprotocol/conformance';
const UNCHECKED = 'Nobody has checked this app';
const TOOLS = 'list_schools, create_school, rename_school, close_school';
const SCHOOL = 'harbour';
const WHOLE_TRIAL = 600_000;

interface Tools {
  readonly tools: readonly { readonly name: string }[];
}

interface Result {
  readonly isError?: boolean;
  readonly structuredContent?: { readonly id: string; readonly name: string };
  readonly content: readonly { readonly text: string }[];
}

/** What agents/sdk-client.js prints. */
interface SdkResults extends Tools {
  readonly revision?: string;
  readonly renamed: Result;
  readonly wrong: Result;
  readonly unknown: { readonly code?: number; readonly message?: string };
}

const folder = temporaryFolder();
process.on('exit', () => folder[Symbol.dispose]());
const agents = await installAgents(folder.path);
await using example = await startForScripts({ dataDirectory: join(folder.path, 'data') });
// Also when the trial ends early: it leaves nothing running.
process.on('exit', () => void example.process.kill('SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const tooLong = setTimeout(() => {
  console.error('the trial takes longer than ten minutes');
  process.exit(1);
}, WHOLE_TRIAL);
const { announced } = example;
const endpoint = new URL('/mcp', announced.base_url);
const user = new AgentUser(announced);
const transcript = new Transcript();

/** The folder that a program gets as its home. */
async function homeOf(name: string): Promise<string> {
  const home = join(folder.path, 'homes', name);
  await mkdir(home, { recursive: true });
  return home;
}

/** The name of the school at the API. */
async function schoolAtApi(): Promise<string | undefined> {
  const token = await clientToken(announced, 'Nightly import');
  const { body } = await send(`${announced.base_url}/api/v1/schools`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = body as { data: readonly { id: string; name: string }[] };
  return data.find(({ id }) => id === SCHOOL)?.name;
}

function expectTools({ tools }: Tools): string {
  const names = tools.map(({ name }) => name).join(', ');
  expect('all tools', names === TOOLS, names);
  return names;
}

async function expectRenamed({ structuredContent }: Result, name: string): Promise<string> {
  expect('the renamed school', structuredContent?.name === name, structuredContent);
  const found = await schoolAtApi();
  expect('the new name at the API', found === name, found);
  return `\`rename_school\`: ${SCHOOL} is “${name}” now, at \`/api/v1/schools\` too`;
}

/** The results that a program prints as one line of JSON. */
function resultsIn(output: string): unknown {
  return JSON.parse(/^\{.*\}$/m.exec(output)?.[0] ?? '{}');
}

async function authorize(url: string): Promise<string> {
  const said = await user.authorize(url);
  expect(`a consent page with “${UNCHECKED}”`, said.includes(UNCHECKED), said);
  return `has discovered the server, registered itself and sent the user to the consent page (“${UNCHECKED}”)`;
}

transcript.line(`# Programs of others at \`/mcp\` of the example server`);

await transcript.program(agents.named('mcp-remote'), async (done) => {
  const program = agents.file('node_modules/mcp-remote/dist/proxy.js');
  await using remote = startAgent(await homeOf('mcp-remote'), [program, endpoint.href]);
  const [, url = ''] = await remote.printed(/visiting:\s+(\S+)\s/);
  done(await authorize(url));

  let calls = 0;
  const post = (method: string, params: object): void => {
    calls += 1;
    remote.write(JSON.stringify({ jsonrpc: '2.0', id: calls, method, params }));
  };
  const answer = async <T>(): Promise<T> => {
    const [line] = await remote.printed(new RegExp(`^\\{.*"id":${calls}[,}].*\\n`, 'm'));
    return (JSON.parse(line) as { result: T }).result;
  };
  const call = async <T>(method: string, params: object): Promise<T> => {
    post(method, params);
    return answer<T>();
  };
  const opened = await call<{ protocolVersion: string }>('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'trial', version: '1' },
  });
  remote.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  done(`\`initialize\` over stdio: revision ${opened.protocolVersion}`);
  done(`\`tools/list\`: ${expectTools(await call<Tools>('tools/list', {}))}`);
  const name = 'Harbour School of mcp-remote';
  const renaming = { name: 'rename_school', arguments: { id: SCHOOL, input: { name } } };
  done(await expectRenamed(await call<Result>('tools/call', renaming), name));

  await user.disconnect('MCP CLI Proxy');
  done('the user disconnects “MCP CLI Proxy” on `/account/apps`');
  const next = `${name}, authorized again`;
  post('tools/call', { name: 'rename_school', arguments: { id: SCHOOL, input: { name: next } } });
  const [, again = ''] = await remote.printed(/visiting:\s+(\S+)\s/);
  await remote.printed(/UnauthorizedError/);
  const found = await schoolAtApi();
  expect('the name from before', found === name, found);
  done(
    'its next call is refused (`UnauthorizedError`) and changes nothing; it asks the user to authorize it again',
  );
  await authorize(again);
  done(
    `the user does, and the call that has waited is done: ${await expectRenamed(await answer<Result>(), next)}`,
  );
});

for (const [generation, program] of SDKS) {
  await transcript.program(agents.named(program), async (done) => {
    const name = `Harbour School of the SDK ${generation}`;
    const command = [agents.file('sdk-client.js'), endpoint.href, name, generation];
    await using client = startAgent(await homeOf(`sdk-${generation}`), command);
    const [, url = ''] = await client.printed(/Authorize at (\S+)\s/);
    done(await authorize(url));
    const said = resultsIn(await client.succeeded()) as SdkResults;
    done(`connected: revision ${said.revision ?? 'not told by this version'}`);
    done(`list: ${expectTools(said)}`);
    done(await expectRenamed(said.renamed, name));
    expect('isError', said.wrong.isError === true, said.wrong);
    done(`an empty name: \`isError\`, “${said.wrong.content[0]?.text.replaceAll('\n', ' ')}”`);
    expect('-32602', said.unknown.code === -32_602, said.unknown);
    done(`an unknown tool: “${said.unknown.message}”`);
  });
}

for (const [program, file] of FRAMEWORKS) {
  await transcript.program(agents.named(program), async (done) => {
    const name = `Harbour School of ${program}`;
    await using client = startAgent(await homeOf(file), [agents.file(file), endpoint.href, name]);
    const [, url = ''] = await client.printed(/Authorize at (\S+)\s/);
    done(await authorize(url));
    const said = resultsIn(await client.succeeded()) as Tools;
    done(`list: ${expectTools(said)}`);
    done(await expectRenamed({ structuredContent: { id: SCHOOL, name }, content: [] }, name));
  });
}

await transcript.program('Registrations as common agents send them', async (done) => {
  for (const [agent, metadata] of Object.entries(COMMON_AGENTS)) {
    const { body, status, text } = await postJson(`${announced.base_url}/oauth/register`, metadata);
    expect(`${agent} registered`, status === 201, text);
    expect('its redirect URIs', String(body!['redirect_uris']) === String(metadata.redirect_uris), text);
    for (const redirectUri of metadata.redirect_uris) {
      const code = await user.authorizeAt({ client: body!, redirectUri, resource: endpoint.href });
      expect(`a code at ${redirectUri}`, code !== null);
    }
    done(`${agent}: a code at ${metadata.redirect_uris.map((uri) => `\`${uri}\``).join(', ')}`);
  }
});

await transcript.program(`${agents.named(INSPECTOR)} --cli`, async (done) => {
  const home = await homeOf('inspector');
  const program = agents.file(`node_modules/${INSPECTOR}/clients/launcher/build/index.js`);
  const command = [program, '--cli', '--server-url', endpoint.href, '--transport', 'http', '--method'];
  {
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    const words = [...command, 'tools/list', '--strict', '--callback-url', callback];
    await using listing = startAgent(home, words);
    const [, url = ''] = await listing.printed(/navigate to: (\S+)\s/);
    done(await authorize(url));
    const output = await listing.succeeded();
    done(
      `\`tools/list --strict\` finds no fault in the schemas: ${expectTools(JSON.parse(output) as Tools)}`,
    );
  }
  for (const era of ['legacy', 'modern']) {
    const name = `Harbour School of the inspector, ${era}`;
    const given = JSON.stringify({ id: SCHOOL, input: { name } });
    const words = ['tools/call', '--tool-name', 'rename_school', '--tool-args-json', given];
    const options = ['--protocol-era', era, '--stored-auth-only'];
    await using calling = startAgent(home, [...command, ...words, ...options]);
    const output = await calling.succeeded();
    done(`\`--protocol-era ${era}\`, ${await expectRenamed(JSON.parse(output) as Result, name)}`);
  }
});

await transcript.program(`${agents.named(CONFORMANCE)} authorization`, async (done) => {
  const program = agents.file(`node_modules/${CONFORMANCE}/dist/index.js`);
  const port = await freePort();
  const registered = await postJson(`${announced.base_url}/oauth/register`, {
    client_name: 'Conformance suite',
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
    token_endpoint_auth_method: 'none',
  });
  const { client_id: id } = registered.body as { client_id: string };
  const words = ['authorization', '--url', announced.base_url, '--client-id', id, '--port', String(port)];
  await using suite = startAgent(await homeOf('authorization'), [
    program,
    ...words,
    '--resource',
    endpoint.href,
  ]);
  const [, url = ''] = await suite.printed(/(http:\S+\/oauth\/authorize\?\S+)/);
  await authorize(url);
  const output = await suite.succeeded();
  for (const [line] of output.matchAll(/^.*\bpassed\b.*$/gim)) done(line.trim());
});

await transcript.program(`${agents.named(CONFORMANCE)} server`, async () => {
  const token = await clientToken(announced, 'Nightly import', endpoint.href);
  const program = agents.file(`node_modules/${CONFORMANCE}/dist/index.js`);
  const home = await homeOf('conformance');
  const results = await runConformance(program, { home, endpoint, token });
  transcript.line('| scenario | passed | failed | checks that do not apply |\n|---|---|---|---|');
  const applying = results.filter(({ reason }) => reason === undefined);
  for (const { scenario, passed, failed, without } of applying) {
    const why = [...new Set(without)].join('; ');
    transcript.line(
      `| ${scenario} | ${passed} | ${failed.length} | ${without.length > 0 ? `${without.length}: ${why}` : ''} |`,
    );
  }
  transcript.line('\nScenarios that do not apply:\n');
  for (const [reason, group] of Map.groupBy(results, (result) => result.reason)) {
    if (reason === undefined) continue;
    transcript.line(`- ${reason}: ${group.map(({ scenario }) => scenario).join(', ')}`);
  }
  for (const failed of applying.flatMap((result) => result.failed)) transcript.fail(failed);
  expect('seven scenarios that apply', applying.length === 7, applying.length);
});

clearTimeout(tooLong);
process.exitCode = transcript.status;

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { startAgent } from './agents-program.ts';

/** One check of a scenario, as the suite writes it to checks.json. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** What a scenario has found. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly passed: number;
  readonly failed: readonly string[];
  /** Checks that do not apply, each with the reason. */
  readonly without: readonly string[];
  /** Why the whole scenario does not apply. */
  readonly reason: string | undefined;
}

// Checks of scenarios that apply otherwise.
const CHECKS_WITHOUT_SUBJECT: Readonly<Record<string, string>> = {
  'sep-2575-server-rejects-undeclared-capability': 'calls the tool test_missing_capability',
  'sep-2575-missing-capability-http-400': 'calls the tool test_missing_capability',
  'sep-2575-http-server-no-independent-requests-on-stream': 'calls the tool test_streaming_elicitation',
  'sep-2575-server-no-log-without-loglevel': 'calls the tool test_logging_tool',
  'sep-2549-prompts-list-caching-hints': 'there are no prompts',
  'sep-2549-resources-list-caching-hints': 'there are no resources',
  'sep-2549-resources-templates-list-caching-hints': 'there are no resources',
};

const SCENARIOS_WITHOUT_SUBJECT: readonly (readonly [RegExp, string])[] = [
  [/^(tools-call|elicitation)-|^json-schema-2020-12$/, 'calls tools of the suite, such as test_simple_text'],
  [/^input-required-result-/, 'calls tools of the suite that ask the client for input, which actions do not'],
  [/^http-custom-header-/, 'no tool takes an argument from a header field'],
  [/^(resources|sep-2164)-/, 'there are no resources'],
  [/^prompts-/, 'there are no prompts'],
  [/^completion-/, 'no arguments are completed'],
  [/^logging-/, 'clients get no log messages'],
  [/^server-(session|sse)-/, 'there are no sessions and no streams to resume'],
  [/^tasks-/, 'the extension for tasks is not offered'],
  [/^sep-2640-/, 'the extension for skills is not offered'],
];

/** Runs all scenarios of the suite for servers, which sends no token: a proxy adds it. */
export async function runConformance(
  program: string,
  { home, endpoint, token }: { readonly home: string; readonly endpoint: URL; readonly token: string },
): Promise<readonly ScenarioResult[]> {
  await using proxy = await startProxy(endpoint.origin, token);
  const results = join(home, 'results');
  const url = new URL(endpoint.pathname, proxy.origin).href;
  {
    await using suite = startAgent(home, [program, 'server', '--url', url, '--suite', 'all', '-o', results]);
    // It ends with 1 when a scenario has failed, also one without a subject.
    await suite.ended();
  }
  const folders = await readdir(results);
  return await Promise.all(
    folders.toSorted().map(async (folder) => {
      const scenario = folder.replace(/^server-(.*?)-\d{4}-\d\d-\d\dT.*$/, '$1');
      const checks = JSON.parse(await readFile(join(results, folder, 'checks.json'), 'utf8')) as Check[];
      return judge(scenario, checks);
    }),
  );
}

function judge(scenario: string, checks: readonly Check[]): ScenarioResult {
  const missed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  const failed = missed
    .filter(({ id }) => CHECKS_WITHOUT_SUBJECT[id] === undefined)
    .map(({ id, errorMessage = '' }) => `${id}: ${errorMessage}`);
  return {
    scenario,
    passed,
    failed: passed > 0 ? failed : [...failed, `${scenario} has passed no check`],
    without: missed.flatMap(({ id }) => CHECKS_WITHOUT_SUBJECT[id] ?? []),
    reason: SCENARIOS_WITHOUT_SUBJECT.find(([pattern]) => pattern.test(scenario))?.[1],
  };
}

/** A proxy on this machine that adds a token. The server gets its own name where a request names the proxy. */
async function startProxy(target: string, token: string): Promise<{ origin: string } & AsyncDisposable> {
  const server = createServer((incoming, outgoing) => {
    const own = `localhost:${(server.address() as AddressInfo).port}`;
    const named = (value: string | undefined) => value?.replace(own, new URL(target).host);
    const { host, origin, ...headers } = incoming.headers;
    const forwarded = request(new URL(incoming.url ?? '/', target), {
      method: incoming.method,
      headers: {
        ...headers,
        host: named(host),
        ...(origin === undefined ? {} : { origin: named(origin) }),
        authorization: `Bearer ${token}`,
      },
    });
    forwarded.once('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    forwarded.once('error', () => outgoing.destroy());
    // The suite closes streams that it has read enough of.
    outgoing.once('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

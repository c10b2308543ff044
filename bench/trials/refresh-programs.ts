import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort } from '../../test/harness/free-port.ts';
import type { InstalledAgents } from './agents-install.ts';
import { startAgent } from './agents-program.ts';
import type { AgentProgram } from './agents-program.ts';

/** How a call has ended: it was answered or not, or the user has to authorize the program, at a URL. */
export type Outcome = 'answered' | 'failed' | URL;

/** One of the sessions of a program. */
export interface Session {
  /** Calls the server with the stored credential. */
  call(): Promise<Outcome>;
  /** Resolves to the outcome of a call that has waited for the user. */
  authorized(): Promise<Outcome>;
  /** Ends the program by SIGKILL, whatever it does; the next call starts it again. */
  kill(): Promise<void>;
}

/** A program whose sessions share a credential. */
export interface Sharing {
  readonly name: string;
  readonly sessions: readonly Session[];
}

/** Where the programs run, and the server that they call. */
export interface ProgramSettings {
  readonly agents: InstalledAgents;
  /** A folder for their homes. */
  readonly folder: string;
  readonly endpoint: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Ten sessions of four programs, unchanged: both generations of the SDK, which share a file, mcp-remote and the inspector. */
export async function startSharing({
  agents,
  endpoint,
  environment,
  folder,
}: ProgramSettings): Promise<readonly Sharing[]> {
  const homes = Object.fromEntries(
    ['sdk', 'mcp-remote', 'inspector'].map((name) => [name, join(folder, name)]),
  ) as Record<'sdk' | 'mcp-remote' | 'inspector', string>;
  await Promise.all(Object.values(homes).map(async (home) => mkdir(home, { recursive: true })));
  const sdk = (generation: string): Session =>
    new LastingSession(() => {
      const file = join(homes.sdk, 'credential.json');
      const command = [agents.file('shared-credential.js'), endpoint, generation, file];
      return startAgent(homes.sdk, command, { environment });
    }, LISTING);
  const remote = (): Session =>
    new LastingSession(() => {
      const program = agents.file('node_modules/mcp-remote/dist/proxy.js');
      return startAgent(homes['mcp-remote'], [program, endpoint], { environment });
    }, JSON_RPC);
  const inspector = (): Session =>
    new CallSession((callback) => {
      const program = agents.file(
        'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
      );
      const words = ['--server-url', endpoint, '--transport', 'http', '--method', 'tools/list'];
      const command = [program, '--cli', ...words, '--callback-url', callback];
      return startAgent(homes.inspector, command, { environment });
    });
  return [
    { name: 'SDK', sessions: ['1.32', '2.4', '1.32', '2.4'].map(sdk) },
    { name: 'mcp-remote', sessions: [remote(), remote(), remote()] },
    { name: 'inspector', sessions: [inspector(), inspector(), inspector()] },
  ];
}

/** What a program that stays reads and prints. */
interface Protocol {
  /** What is written once, before the first call. */
  readonly opening: readonly string[];
  request(number: number): string;
  /** What it prints when the call has ended: the first group is where to authorize it, the second what it has answered. */
  response(number: number): RegExp;
}

const LISTING: Protocol = {
  opening: [],
  request: () => 'list',
  response: () => /^Authorize at (\S+)$|^(listed)$|^failed.*$/m,
};

const JSON_RPC: Protocol = {
  opening: [
    JSON.stringify({
      jsonrpc: '2.0',
      id: 'opening',
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'trial', version: '1' },
      },
    }),
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
  ],
  request: (id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params: {} }),
  response: (id) =>
    new RegExp(`visiting:\\s+(\\S+)\\s|^(\\{.*"id":${id}[,}].*"tools".*)$|^\\{.*"id":${id}[,}].*$`, 'm'),
};

/** A session of a program that stays. */
class LastingSession implements Session {
  readonly #start: () => AgentProgram;
  readonly #protocol: Protocol;
  #program: AgentProgram | undefined;
  #calls = 0;

  constructor(start: () => AgentProgram, protocol: Protocol) {
    this.#start = start;
    this.#protocol = protocol;
  }

  async call(): Promise<Outcome> {
    if (this.#program === undefined) {
      this.#program = this.#start();
      for (const line of this.#protocol.opening) this.#program.write(line);
    }
    this.#calls += 1;
    this.#program.write(this.#protocol.request(this.#calls));
    return this.authorized();
  }

  async authorized(): Promise<Outcome> {
    try {
      const [, url, answer] = await this.#program!.printed(this.#protocol.response(this.#calls));
      if (url !== undefined) return new URL(url);
      return answer === undefined ? 'failed' : 'answered';
    } catch {
      // It has ended: without the server it does not start, and it may have been killed.
      await this.kill();
      return 'failed';
    }
  }

  async kill(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    await program?.[Symbol.asyncDispose]();
  }
}

/** A session of a program that runs once for each call. */
class CallSession implements Session {
  readonly #start: (callback: string) => AgentProgram;
  #program: AgentProgram | undefined;

  constructor(start: (callback: string) => AgentProgram) {
    this.#start = start;
  }

  async call(): Promise<Outcome> {
    this.#program = this.#start(`http://127.0.0.1:${await freePort()}/oauth/callback`);
    return this.authorized();
  }

  async authorized(): Promise<Outcome> {
    const program = this.#program!;
    const asks = program.printed(/navigate to: (\S+)\s/).then(
      ([, url]) => new URL(url!),
      () => undefined,
    );
    const ends = program.succeeded().then(
      () => 'answered' as const,
      () => 'failed' as const,
    );
    const outcome = (await Promise.race([asks, ends])) ?? (await ends);
    return outcome;
  }

  async kill(): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]();
  }
}

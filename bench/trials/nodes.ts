import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A node in a process of its own. */
export interface Node extends AsyncDisposable {
  readonly origin: string;
  /** Ends it at once, whatever it is doing. */
  kill(this: void): void;
}

/**
 * Starts a node; see node.ts.
 *
 * @param options.program - another program, in this folder
 * @param options.given - its further arguments
 * @param options.environment - variables beside those of this process
 */
export async function startNode(
  database: string,
  issuer: string,
  {
    given = [],
    program = 'node.ts',
    environment = {},
  }: {
    readonly given?: readonly string[];
    readonly program?: string;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<Node> {
  const { pathname } = new URL(program, import.meta.url);
  const words = ['--conditions=gatehouse:source', pathname, database, issuer, ...given];
  const child = spawn(process.execPath, words, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const said = await Promise.race([once(lines, 'line'), ended.then(() => undefined)]);
  if (!said) throw new Error('a node has not started');
  return {
    origin: String(said[0]),
    kill: () => void child.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}

/** Two nodes of a server, each of which may be killed and started again. */
export class Nodes implements AsyncDisposable {
  readonly issuer: string;
  readonly #start: () => Promise<Node>;
  readonly #nodes: Node[] = [];

  constructor(issuer: string, start: () => Promise<Node>) {
    this.issuer = issuer;
    this.#start = start;
  }

  async begin(): Promise<void> {
    this.#nodes.push(await this.#start(), await this.#start());
  }

  /** The URL at a node of a URL of the issuer. */
  at(url: string | URL, node: number): URL {
    const { pathname, search } = new URL(url);
    return new URL(pathname + search, this.#nodes[node]!.origin);
  }

  async restart(node: number): Promise<void> {
    this.#nodes[node] = await this.#start();
  }

  kill(node: number): void {
    this.#nodes[node]!.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map(async (node) => node[Symbol.asyncDispose]()));
  }
}

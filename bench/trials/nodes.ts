import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A node in a process of its own. */
export interface Node extends AsyncDisposable {
  readonly origin: string;
}

/** Starts a node; see node.ts. */
export async function startNode(database: string, issuer: string): Promise<Node> {
  const program = new URL('node.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--conditions=gatehouse:source', program, database, issuer], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const said = await Promise.race([once(lines, 'line'), ended.then(() => undefined)]);
  if (!said) throw new Error('a node has not started');
  return {
    origin: String(said[0]),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}

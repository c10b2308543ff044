import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const NODE = new URL('node-process.ts', import.meta.url).pathname;

/** Starts nodes in processes of their own on one database, and gives the origins where they listen. */
export async function startNodes(
  count: number,
  { address, issuer }: { address: string; issuer: string },
): Promise<{ readonly origins: readonly string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['--conditions=gatehouse:source', NODE, address, issuer], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  const lines = children.map(async ({ stdout }) => {
    const [line] = (await once(createInterface(stdout), 'line')) as [string];
    return line;
  });
  return {
    origins: await Promise.all(lines),
    async [Symbol.asyncDispose]() {
      const ends = children.map(async (child) => once(child, 'exit'));
      for (const { stdin } of children) stdin.end();
      await Promise.all(ends);
    },
  };
}

import { readFile } from 'node:fs/promises';

import type { Browser } from 'playwright-core';

/** The processes of a browser. */
export interface Processes {
  /**
   * The memory that only these processes use, in bytes, swapped out or not; 0 where there is no /proc, and while the browser does not
   * respond.
   */
  memory(): Promise<number>;
  /** Kills the processes. */
  kill(): void;
}

/** Asks the browser for its processes, because playwright-core does not tell their ids. */
export async function openProcesses(browser: Browser): Promise<Processes> {
  const session = await browser.newBrowserCDPSession();
  let known: readonly number[] = [];

  async function list(): Promise<readonly number[]> {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    known = processInfo.map(({ id }) => id);
    return known;
  }

  await list();
  return {
    async memory() {
      try {
        const sizes = await Promise.all((await list()).map(memoryOf));
        return sizes.reduce((sum, size) => sum + size, 0);
      } catch {
        // The browser has ended.
        return 0;
      }
    },
    kill() {
      for (const id of known) tryKill(id);
    },
  };
}

/**
 * The anonymous memory of a process, in RAM and swapped out (proc(5)). Files and shared memory are left out, because they would be
 * counted repeatedly.
 */
async function memoryOf(id: number): Promise<number> {
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
  return Array.from(
    status.matchAll(/^(?:RssAnon|VmSwap):\s*(\d+) kB$/gm),
    ([, size]) => Number(size) * 1024,
  ).reduce((sum, size) => sum + size, 0);
}

function tryKill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // The process has ended by itself.
  }
}

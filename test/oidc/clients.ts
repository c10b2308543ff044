import { fork } from 'node:child_process';
import { once } from 'node:events';

import test from 'ava';

/** A token request, and how many times to send it at once. */
export interface Burst {
  readonly url: string;
  readonly fields: Record<string, string>;
  readonly times: number;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

/** Starts clients in processes of their own, for the tests of a file. Gives what lets all of them send at once. */
export function startClients(count: number): (burst: Burst) => Promise<Answer[]> {
  const program = new URL('client-process.ts', import.meta.url);
  const children = Array.from({ length: count }, () => fork(program));
  test.after.always('end the clients', () => children.forEach((child) => child.kill()));
  return async (burst) => {
    const ofEach = await Promise.all(
      children.map(async (child) => {
        const answered = once(child, 'message');
        child.send(burst);
        const [answers] = (await answered) as [Answer[]];
        return answers;
      }),
    );
    return ofEach.flat();
  };
}

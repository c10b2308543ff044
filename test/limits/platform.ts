import { setTimeout as wait } from 'node:timers/promises';

import { people, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { around, breakable } from '../harness/storage.ts';

type Options = NonNullable<Parameters<typeof startPlatform>[0]>;

export const ANN = { login: 'ann@school.example', password: 'correct horse' };
export const BOB = { login: 'bob@school.example', password: 'battery staple' };

/** A platform behind a trusted proxy, whose user store needs a few milliseconds to check a password. */
export interface LimitedPlatform extends AsyncDisposable {
  readonly platform: Platform;
  /** The logins that the user store was asked about. */
  readonly asked: string[];
  /** Calls of the attempt store, such as `attempts.count`. */
  readonly counted: string[];
  /** Names of the storage's methods that fail. */
  readonly broken: Set<string>;
  /** Posts the login form from an address, with the device cookie of a known browser. */
  signIn(person?: { login: string; password: string }, address?: string, device?: string): Promise<Answer>;
}

export async function startLimited(
  options: Options = {},
  trustsProxy = true,
  maxIpsCount = 1,
): Promise<LimitedPlatform> {
  const asked: string[] = [];
  const counted: string[] = [];
  const { broken, storage: failing } = breakable(options.storage);
  const storage = around(failing, async (name, call) => {
    if (name.startsWith('attempts.')) counted.push(name);
    return call();
  });
  const users = people();
  const platform = await startPlatform(
    {
      users: {
        ...users,
        async verifyPassword(login, password) {
          asked.push(login);
          await wait(5);
          return users.verifyPassword(login, password);
        },
      },
      ...options,
      storage,
    },
    { koa: { proxy: trustsProxy, maxIpsCount } },
  );
  return {
    platform,
    asked,
    counted,
    broken,
    signIn: async (person = ANN, address = '192.0.2.1', device = '') =>
      postForm(platform.url('/oauth/login'), person, {
        'x-forwarded-for': address,
        ...(device && { cookie: `gatehouse_device_${new URL(platform.origin).port}=${device}` }),
      }),
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

/** The device cookie that an answer sets. */
export function deviceOf({ headers }: Answer): string | undefined {
  const lines = headers.getSetCookie().join('\n');
  return /^gatehouse_device_\d+=([^;]*)/m.exec(lines)?.[1];
}

/** Sends requests one after the other; returns the statuses. */
export async function times(count: number, ask: (index: number) => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) statuses.push((await ask(index)).status);
  return statuses;
}

/** The number of responses with each status. */
export function tally(answers: readonly { readonly status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

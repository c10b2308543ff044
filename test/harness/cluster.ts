import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { Browser } from './browser.ts';
import { startPlatform } from './platform.ts';
import type { Mounting, Platform, PlatformOptions } from './platform.ts';

/** The issuer of all nodes. Nothing listens at its port: requests go to the node that a test chooses. */
const ISSUER = 'http://localhost:1';

/** The nodes of one issuer on one database. Those that still run are stopped at the end of the test. */
export interface Cluster {
  start(options?: Parameters<typeof startPlatform>[0], mounting?: Mounting): Promise<Platform>;
  stop(node: Platform): Promise<void>;
}

export function clusterOn(t: Pick<ExecutionContext, 'teardown'>, address: string): Cluster {
  const running = new Set<Platform>();

  async function stop(node: Platform): Promise<void> {
    if (running.delete(node)) await node[Symbol.asyncDispose]();
  }

  t.teardown(async () => Promise.all([...running].map(stop)));
  return {
    async start(options, mounting) {
      let own = '';
      const node = await startPlatform(
        {
          storage: knexStorage(address),
          ...options,
          tokens: { revocationLag: 1, ...options?.tokens },
        },
        {
          ...mounting,
          inFront(origin) {
            own = origin;
            return ISSUER;
          },
          reach: (url) => new URL(url.pathname + url.search, own),
        },
      );
      running.add(node);
      return node;
    },
    stop,
  };
}

/** A browser whose requests go to the last node that it was sent to. */
export class BrowserOfCluster extends Browser {
  #node: Platform;

  constructor(node: Platform) {
    super((url) => this.#node.reach(url));
    this.#node = node;
  }

  sendTo(node: Platform): this {
    this.#node = node;
    return this;
  }
}

/**
 * Two nodes of one issuer with the same users, each at its own origin.
 *
 * @param storages - of `here` and of `there`, such as one that can be paused and another on the same database
 * @param start - starts a node with these options, and gives it an owner
 */
export async function startTwo<Node extends Platform>(
  [one, other]: readonly [Storage, Storage],
  start: (given: Pick<PlatformOptions, 'issuer' | 'storage' | 'users'>) => Promise<Node>,
): Promise<{ readonly here: Node; readonly there: Node }> {
  const here = await start({ storage: one });
  const there = await start({ storage: other, issuer: here.origin, users: here.users });
  return { here, there };
}

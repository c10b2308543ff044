import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { Browser } from './browser.ts';
import { startPlatform } from './platform.ts';
import type { Mounting, Platform } from './platform.ts';

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

import type { ClientStore, ConsentStore, Storage } from './contracts.ts';

/** The storage for those who note when something was last used, which no request waits for. */
export interface LastUses {
  readonly clients: Pick<ClientStore, 'find' | 'rehashSecret' | 'touchSecret'>;
  readonly consents: Pick<ConsentStore, 'touch'>;
  /** Resolves when the notes under way are written, or have failed. */
  written(): Promise<void>;
}

export function followLastUses({ clients, consents }: Pick<Storage, 'clients' | 'consents'>): LastUses {
  const underway = new Set<Promise<unknown>>();

  async function follow<T>(write: Promise<T>): Promise<T> {
    underway.add(write);
    try {
      return await write;
    } finally {
      underway.delete(write);
    }
  }

  return {
    clients: {
      find: async (...given) => clients.find(...given),
      rehashSecret: async (...given) => clients.rehashSecret(...given),
      touchSecret: async (...given) => follow(clients.touchSecret(...given)),
    },
    consents: { touch: async (...given) => follow(consents.touch(...given)) },
    async written() {
      await Promise.allSettled(underway);
    },
  };
}

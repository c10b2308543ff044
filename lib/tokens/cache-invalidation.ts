import type { EndedParty, RevokedToken, Storage } from '../contracts/index.ts';

/**
 * What was changed or ended on this node: whatever any of the members fits has to be forgotten. Forgetting too much costs a
 * look-up, no more.
 */
export interface Invalidated {
  /** The `jti` of a token. Its text would not do: who has an ES256 token can give it another signature that is right too. */
  readonly tokenId?: string | undefined;
  readonly grantId?: string | undefined;
  /** A user, through whatever client, and the clients that they own. */
  readonly userId?: string | undefined;
  /** A client, for itself and for users. */
  readonly clientId?: string | undefined;
}

/** Tells the caches of this node what to forget at once. Those of other nodes learn it from the storage, within `revocationLag`. */
export class CacheInvalidation {
  readonly #listeners: ((what?: Invalidated) => void)[] = [];

  /** Has a cache told, from here on. */
  add(forget: (what?: Invalidated) => void): void {
    this.#listeners.push(forget);
  }

  /** Call it when the storage has the change. Without an argument everything is forgotten. */
  readonly notify = (what?: Invalidated): void => {
    for (const forget of this.#listeners) forget(what);
  };
}

/**
 * The same storage, which also tells about each revocation once it is stored, whoever asked for it: a route, the
 * engine that saw a credential twice, or the host. So that no caller can forget to tell the guard of this node.
 */
export function observeRevocations(storage: Storage, onRevoked: (revoked: Invalidated) => void): Storage {
  const { grants, revocations } = storage;
  return Object.freeze({
    ...delegated(storage),
    grants: {
      ...delegated(grants),
      async revoke(selector: Parameters<typeof grants.revoke>[0], at: number) {
        const revoked = await grants.revoke(selector, at);
        for (const grantId of revoked) onRevoked({ grantId });
        return revoked;
      },
    },
    revocations: {
      ...delegated(revocations),
      async add(token: RevokedToken) {
        await revocations.add(token);
        onRevoked({ tokenId: token.id });
      },
      async end(party: EndedParty) {
        await revocations.end(party);
        onRevoked(party);
      },
    },
  });
}

/** The members of a port with its methods bound, also when a class implements it. */
function delegated<T extends object>(port: T): T {
  const names = new Set<string>();
  for (
    let level: object | null = port;
    level && level !== Object.prototype;
    level = Object.getPrototypeOf(level)
  ) {
    for (const name of Object.getOwnPropertyNames(level)) if (name !== 'constructor') names.add(name);
  }
  return Object.fromEntries(
    [...names].map((name) => {
      const member = port[name as keyof T];
      return [name, typeof member === 'function' ? member.bind(port) : member];
    }),
  ) as T;
}

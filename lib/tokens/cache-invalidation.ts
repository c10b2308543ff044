import type { EndedParty, RevokedToken, Storage } from '../contracts/index.ts';

/**
 * What was changed or revoked on this node. Cache entries that match any of the members must be removed; removing more than
 * that only costs another read.
 */
export interface Invalidated {
  /** The `jti` of a token. Not its text, because an ES256 signature can be changed into another valid one. */
  readonly tokenId?: string | undefined;
  readonly grantId?: string | undefined;
  /** A user: all tokens of the user, and those of the clients that the user owns. */
  readonly userId?: string | undefined;
  /** A client: its own tokens, and those of its users. */
  readonly clientId?: string | undefined;
}

/** Invalidates the caches of this node at once. Other nodes read the change from the storage within `revocationLag`. */
export class CacheInvalidation {
  readonly #listeners: ((what?: Invalidated) => void)[] = [];

  /** Registers a cache. */
  add(forget: (what?: Invalidated) => void): void {
    this.#listeners.push(forget);
  }

  /** Invalidates matching entries of all caches; call it after the change is stored. Without an argument, all entries. */
  readonly notify = (what?: Invalidated): void => {
    for (const forget of this.#listeners) forget(what);
  };
}

/**
 * Wraps a storage so that `onRevoked` is called after each stored revocation. All callers go through it (routes, the engine
 * when it detects a replayed credential, the host), so none of them can omit the invalidation of this node's guard.
 */
export function observeRevocations(storage: Storage, onRevoked: (revoked: Invalidated) => void): Storage {
  const { grants, revocations } = storage;
  return Object.freeze({
    ...bindMembers(storage),
    grants: {
      ...bindMembers(grants),
      async revoke(selector: Parameters<typeof grants.revoke>[0], at: number) {
        const revoked = await grants.revoke(selector, at);
        for (const grantId of revoked) onRevoked({ grantId });
        return revoked;
      },
    },
    revocations: {
      ...bindMembers(revocations),
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

/** The members of a port with its methods bound, including those that a class defines on its prototype. */
function bindMembers<T extends object>(port: T): T {
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

import type { EndedParty, RevokedToken, Storage } from '../contracts/index.ts';
import type { Invalidated } from './cache-invalidation.ts';

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

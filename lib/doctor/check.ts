import type { Client, Finding, Gate, Storage } from '../contracts/index.ts';

/** What is looked at. */
export interface CheckedServer {
  readonly storage: Storage;
  /** Names are compared with it when it is known. */
  readonly gate: Pick<Gate, 'has' | 'roles'> | undefined;
  readonly scopes: ReadonlyMap<string, unknown> | undefined;
  readonly keys: {
    /** Whether a key-encryption key is given, so that new keys are written encrypted. */
    readonly encrypts: boolean;
    isEncrypted(material: string): boolean;
    /** Rejects when the key cannot be read. */
    read(material: string): Promise<unknown>;
  };
  /** The cookie keys that the host gives; `undefined`: they are in the storage. */
  readonly cookieKeys: readonly string[] | undefined;
  /** In seconds; 0: keys are rotated by hand. */
  readonly keyRotation: number;
  /** In seconds; 0: somebody else prunes. */
  readonly pruneInterval: number;
  /** Whether keys that are stored as they are are worth a finding: in production, or when the host has chosen it. */
  readonly plainKeysMatter: boolean;
  /** To be probed over the network, as the world sees it; `undefined`: nothing is probed. */
  readonly issuer: string | undefined;
}

/** Looks at one thing and tells what an operator should do about it. */
export type Check = (server: CheckedServer) => Promise<readonly Finding[]>;

// Enough to begin with, and a message that fits a screen whatever the number of clients.
const MOST_NAMED = 3;

/** Clients that have something in common, to be named in a message; remembers only as many as it names. */
export class NamedClients {
  readonly #names: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add({ id, name }: Pick<Client, 'id' | 'name'>, detail = ''): void {
    this.#count += 1;
    if (this.#names.length < MOST_NAMED) this.#names.push(`"${name}" (${id}${detail && `, ${detail}`})`);
  }

  /** Such as `"Reports" (7)`, or `"Reports" (7), "Mail" (8), "Shop" (9) and 12 more`. */
  toString(): string {
    const more = this.#count - this.#names.length;
    return this.#names.join(', ') + (more > 0 ? ` and ${more} more` : '');
  }
}

import type { Client, Finding, Gate, Storage } from '../../contracts/index.ts';
import type { Protection } from '../../keys/material.ts';

/** The parts and the configuration of a server that the checks read. */
export interface CheckedServer {
  readonly storage: Storage;
  /** `undefined`: not known, so that the names of roles and permissions are not checked. */
  readonly gate: Pick<Gate, 'has' | 'roles'> | undefined;
  readonly scopes: ReadonlyMap<string, unknown> | undefined;
  readonly keys: {
    /** Whether a key-encryption key is configured, so that new keys are stored encrypted. */
    readonly encrypts: boolean;
    protectionOf(material: string): Protection;
    /** Rejects when the key cannot be decrypted. */
    read(material: string): Promise<unknown>;
  };
  /** The option `secrets.cookieKeys`; `undefined`: the keys are in the storage. */
  readonly cookieKeys: readonly string[] | undefined;
  /** In seconds; 0: keys are rotated by hand. */
  readonly keyRotation: number;
  /** In seconds; 0: the server does not prune, but for example a cron job. */
  readonly pruneInterval: number;
  /** Whether unencrypted keys are reported: in production, or when the option `secrets.keyEncryptionKey` is `false`. */
  readonly reportPlainKeys: boolean;
  /** The URL at which the server is probed over the network; `undefined`: it is not probed. */
  readonly issuer: string | undefined;
}

/** Checks one aspect of a server and resolves to the problems, with their remedies. */
export type Check = (server: CheckedServer) => Promise<readonly Finding[]>;

// Limited, so that a message fits a screen whatever the number of clients.
const MOST_NAMED = 3;

/** The clients of a finding, for its message. Stores the first names only, and the count of all. */
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

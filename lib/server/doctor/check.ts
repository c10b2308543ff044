import type { Findings } from '../../findings/finding.ts';
import type { Gate, Seconds, Storage } from '../../contracts/index.ts';
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
  /** 0: keys are rotated by hand. */
  readonly keyRotation: Seconds;
  /** 0: the server does not prune, but for example a cron job. */
  readonly pruneInterval: Seconds;
  /** Whether unencrypted keys are reported: in production, or when the option `secrets.keyEncryptionKey` is `false`. */
  readonly reportPlainKeys: boolean;
  /** The checks of features on this server. @default none */
  readonly further?: readonly (() => Findings)[];
  /** What features examine at a server over the network. */
  readonly examine: readonly ((issuer: string) => Findings)[];
  /** The URL at which the server is probed over the network; `undefined`: it is not probed. */
  readonly issuer: string | undefined;
}

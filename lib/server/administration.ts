import { createAuditLog } from '../audit/audit-log.ts';
import { createClientImport } from '../clients/import.ts';
import type { ImportedClient, ImportOutcome } from '../clients/import.ts';
import { createClientRegistry } from '../clients/registry.ts';
import type { ClientRegistry, Finding, Gate, StoredKey } from '../contracts/index.ts';
import { runChecks } from '../doctor/run-checks.ts';
import { ConfigError } from '../errors.ts';
import { createKeyMaterial } from '../keys/keys.ts';
import type { KeyMaterial } from '../keys/keys.ts';
import { createKeyRing, listSigningKeys } from '../keys/key-ring.ts';
import type { SigningKey } from '../keys/key-ring.ts';
import {
  checkAlgorithm,
  checkDuration,
  checkIssuer,
  checkLifetimes,
  checkLogger,
  checkScopes,
} from '../options/checks.ts';
import type { Duration } from '../contracts/duration.ts';
import type { AuthServerOptions, LifetimePreset, Lifetimes, SigningAlgorithm } from '../options/options.ts';
import { checkGate, checkKeyEncryptionKey, checkStorage, requireKeyEncryptionKey } from '../options/ports.ts';
import { createRevoke } from '../tokens/revoke.ts';
import type { RevocationTarget } from '../tokens/revoke.ts';
import { pruneExpired, PAUSES } from './jobs.ts';
import type { PruneOptions } from './jobs.ts';

/** What `createAdministration()` takes: of the options of the server, those that concern what is stored. */
export interface AdministrationOptions<P extends string = string, R extends string = string> extends Pick<
  AuthServerOptions<P, R>,
  'storage' | 'scopes' | 'keyEncryptionKey' | 'auditRetention' | 'logger'
> {
  /** The servers' gate: names of roles and permissions are checked with it. @default they are taken as they are given */
  readonly gate?: Gate<P, R>;
  /** The servers' lifetimes: those of clients are checked with them. @default they are taken as they are given */
  readonly lifetimes?: LifetimePreset | Lifetimes;
}

/** How a key is made: as the servers that will sign with it are set up. */
export interface KeyRotation {
  /** More than twice the servers' `revocationLag`. @default '1 minute' */
  readonly after?: Duration;
  /** At least the servers' `lifetimes.accessToken`: how long the previous key is kept. @default '1 year' */
  readonly accessTokenLifetime?: Duration;
  /** The servers' `signingAlgorithm`. @default that of the newest key, else 'ES256' */
  readonly algorithm?: SigningAlgorithm;
}

/**
 * What an operator does with a storage, while servers use it or while none runs.
 *
 * Every method but `check()` throws `StorageError` when the storage cannot be reached.
 */
export interface Administration<P extends string = string, R extends string = string> {
  /** The registered clients. Running servers see a change within their `revocationLag`. */
  readonly clients: ClientRegistry<P, R>;
  /**
   * Takes over a client that another server registered, with its id and its secret. One whose id is there already is left
   * as it is, so that an import can be run again.
   *
   * @param options.dryRun - checks only, and tells what would happen
   * @throws ClientInvalidError with one entry per mistake, on a dry run too
   */
  importClient(client: ImportedClient<P, R>, options?: { dryRun?: boolean }): Promise<ImportOutcome>;
  /** The keys that sign access tokens. */
  readonly keys: {
    /** The live signing keys, newest first. */
    list(): Promise<readonly SigningKey[]>;
    /**
     * Makes a new key, published at once, that signs after some time, by when every server knows it. The first one of a
     * storage signs at once. Tokens of the key before it stay good until they expire.
     *
     * @throws ConfigError when an option is wrong, or the keys are encrypted and the `keyEncryptionKey` is not the servers', or
     * there is none in production and the storage is `durable`
     */
    rotate(options?: KeyRotation): Promise<SigningKey>;
  };
  /**
   * Revokes, as `auth.revoke()` does, all tokens of a client, all tokens and logins of a user, or one grant. Running servers
   * know within their `revocationLag`.
   *
   * @throws ConfigError for anything else, a token too: only a server can read one
   */
  revoke(target: Exclude<RevocationTarget, { readonly token: string }>): Promise<void>;
  /** Removes what has expired, in small batches. Resolves to the number of rows removed. */
  prune(options?: PruneOptions): Promise<number>;
  /**
   * What an operator should look at, errors first; empty when all is well. A storage that is not there is one of them.
   *
   * @param options.issuer - visits the server there, over the network, and compares
   * @throws ConfigError when the issuer is not a base URL
   */
  check(options?: { issuer?: string }): Promise<readonly Finding[]>;
  /** Writes what is still to be written, and releases what the storage opened. */
  close(): Promise<void>;
}

/**
 * Makes what an operator does without serving; the command line is made of it.
 *
 * @throws ConfigError when an option is wrong; it names the option and the remedy
 */
export function createAdministration<P extends string, R extends string>(
  options: AdministrationOptions<P, R>,
): Administration<P, R> {
  const storage = checkStorage(options.storage);
  const gate = options.gate === undefined ? undefined : checkGate(options.gate);
  const scopes = gate && options.scopes ? checkScopes(options.scopes, gate) : undefined;
  const material = createKeyMaterial(checkKeyEncryptionKey(options.keyEncryptionKey));
  const audit = createAuditLog(storage.audit, {
    logger: checkLogger(options.logger),
    retention: checkDuration('auditRetention', options.auditRetention ?? '90 days', 0),
  });
  const lifetimes = options.lifetimes === undefined ? undefined : checkLifetimes(options.lifetimes);
  const names = { gate, scopes, lifetimes };

  return {
    clients: createClientRegistry(storage.clients, names, { audit, onChange() {} })(),
    importClient: createClientImport(storage.clients, names, ({ id: clientId, name }) =>
      audit.record({ type: 'client_created', clientId, name }),
    ),
    keys: {
      list: async () => listSigningKeys(storage.keys),
      async rotate({ accessTokenLifetime = '1 year', after = '1 minute', algorithm } = {}) {
        requireKeyEncryptionKey(options.keyEncryptionKey, storage);
        const delay = checkDuration('after', after, 0);
        const tokenLifetime = checkDuration('accessTokenLifetime', accessTokenLifetime, 1);
        const newest = (await storage.keys.list('token')).at(-1);
        const ring = await createKeyRing(storage.keys, material, {
          algorithm: algorithm ? checkAlgorithm(algorithm) : await algorithmOf(newest, material),
          tokenLifetime,
          audit,
        });
        return newest ? ring.rotate(delay) : ring.list()[0]!;
      },
    },
    async revoke(target) {
      if ('token' in target)
        throw new ConfigError('revoke()', 'pass one of { client }, { user } and { grant }');
      const revoke = createRevoke(storage, { verify: async () => undefined, audit });
      await revoke(target);
    },
    prune: async (how = {}) => pruneExpired(storage, how, PAUSES.ofCommand),
    check: async ({ issuer } = {}) =>
      runChecks({
        storage,
        gate,
        scopes,
        keys: material,
        cookieKeys: undefined,
        // How the servers are set up is not known here: they rotate by default, and anybody may prune.
        keyRotation: 90 * 86_400,
        pruneInterval: 0,
        plainKeysMatter: options.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production',
        issuer: issuer === undefined ? undefined : checkIssuer(issuer).issuer,
      }),
    async close() {
      // What could not be written is in the log.
      await audit.flush().catch(() => {});
      await storage.close();
    },
  };
}

/** The servers' algorithm is that of their newest key: they would never sign with a key of another one. */
async function algorithmOf(newest: StoredKey | undefined, material: KeyMaterial): Promise<SigningAlgorithm> {
  return newest ? checkAlgorithm((await material.read(newest.material)).alg) : 'ES256';
}

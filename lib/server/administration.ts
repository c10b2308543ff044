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
} from '../options/checks.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import type { Duration } from '../contracts/duration.ts';
import type { AuthServerOptions, LifetimePreset, Lifetimes, SigningAlgorithm } from '../options/options.ts';
import { checkGate, checkKeyEncryptionKey, checkStorage, requireKeyEncryptionKey } from '../options/ports.ts';
import { checkScopeNames } from '../options/resources.ts';
import { CacheInvalidation, observeRevocations } from '../tokens/cache-invalidation.ts';
import { createRevoke } from '../tokens/revoke.ts';
import type { RevocationTarget } from '../tokens/revoke.ts';
import { createOnRemoved, PAUSES, pruneExpired } from './jobs.ts';
import type { PruneOptions } from './jobs.ts';

/** The options of `createAdministration()`: those of `createAuthServer()` that concern stored data. */
export interface AdministrationOptions<P extends string = string, R extends string = string> extends Pick<
  AuthServerOptions<P, R>,
  'storage' | 'scopes' | 'resources' | 'keyEncryptionKey' | 'auditRetention' | 'logger'
> {
  /** The gate of the servers, by which names of roles and permissions are checked. @default they are not checked */
  readonly gate?: Gate<P, R>;
  /** The lifetimes of the servers, which limit those of clients. @default no limit */
  readonly lifetimes?: LifetimePreset | Lifetimes;
}

/** The options of `keys.rotate()`. They have to match the configuration of the servers that will sign with the key. */
export interface KeyRotation {
  /** The delay after which the key signs: more than twice the servers' `revocationLag`. @default '1 minute' */
  readonly after?: Duration;
  /** How long the previous key is kept: at least the servers' `lifetimes.accessToken`. @default '1 year' */
  readonly accessTokenLifetime?: Duration;
  /** The servers' `signingAlgorithm`. @default that of the newest key, else 'ES256' */
  readonly algorithm?: SigningAlgorithm;
}

/**
 * Administration of a storage, with or without running servers.
 *
 * Every method but `check()` throws `StorageError` when the storage cannot be reached.
 */
export interface Administration<P extends string = string, R extends string = string> {
  /** The registered clients. Running servers see a change within their `revocationLag`. */
  readonly clients: ClientRegistry<P, R>;
  /**
   * Imports a client of another server with its id and its secret. When a client with this id exists, it stays unchanged, so
   * that an import can be repeated.
   *
   * @param options.dryRun - checks the client and resolves to the outcome without importing it
   * @throws ClientInvalidError with one entry per mistake, on a dry run too
   */
  importClient(client: ImportedClient<P, R>, options?: { dryRun?: boolean }): Promise<ImportOutcome>;
  /** The keys that sign access tokens. */
  readonly keys: {
    /** Lists the signing keys that have not retired, newest first. */
    list(): Promise<readonly SigningKey[]>;
    /**
     * Creates a new key. It is published at once and signs after a delay, by which every server has read it; the first key of a
     * storage signs at once. Tokens that were signed with the previous key stay valid until they expire.
     *
     * @throws ConfigError when an option is wrong, when stored keys are encrypted with another `keyEncryptionKey`, and when the
     * option is missing in production and the storage is `durable`
     */
    rotate(options?: KeyRotation): Promise<SigningKey>;
  };
  /**
   * Revokes, as `auth.revoke()` does, all tokens of a client, all tokens and logins of a user, one grant, or everything. Running servers
   * refuse them within their `revocationLag`.
   *
   * @throws ConfigError for anything else, a token included: only a server can verify one
   */
  revoke(target: Exclude<RevocationTarget, { readonly token: string }>): Promise<void>;
  /**
   * Deletes expired rows, and apps that registered themselves and are unused, in small batches. Resolves to their number.
   */
  prune(options?: PruneOptions): Promise<number>;
  /**
   * Checks the storage, keys and clients. Resolves to the problems, errors first; an unreachable storage is one of them.
   *
   * @param options.issuer - also checks the server at this URL over the network
   * @throws ConfigError when the issuer is not a base URL
   */
  check(options?: { issuer?: string }): Promise<readonly Finding[]>;
  /** Writes the pending audit events, and closes the connections that the storage has opened. */
  close(): Promise<void>;
}

/**
 * Creates the administration of a storage without a server, for scripts; the command line uses it.
 *
 * @throws ConfigError when an option is wrong; it names the option and the remedy
 */
export function createAdministration<P extends string, R extends string>(
  options: AdministrationOptions<P, R>,
): Administration<P, R> {
  checkKnownOptions(options, OPTIONS);
  const given = checkStorage(options.storage);
  // Running servers learn of changes at once where the storage can tell them.
  const invalidation = new CacheInvalidation(given.changes);
  const storage = observeRevocations(given, invalidation.announce);
  const gate = options.gate === undefined ? undefined : checkGate(options.gate);
  const scopes = gate && checkScopeNames(options, gate);
  const material = createKeyMaterial(checkKeyEncryptionKey(options.keyEncryptionKey));
  const audit = createAuditLog(storage.audit, {
    logger: checkLogger(options.logger),
    retention: checkDuration('auditRetention', options.auditRetention ?? '90 days', 0),
  });
  const lifetimes = options.lifetimes === undefined ? undefined : checkLifetimes(options.lifetimes);
  // Not known here: whether the servers accept keys.
  const names = { gate, scopes, lifetimes, privateKeyJwt: undefined };
  const onRemoved = createOnRemoved(audit, (clientId) => invalidation.announce({ clientId }));

  return {
    clients: createClientRegistry(storage.clients, names, {
      audit,
      onChange: (clientId) => invalidation.announce({ clientId }),
    })(),
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
          algorithm: algorithm ? checkAlgorithm(algorithm) : await serverAlgorithm(newest, material),
          tokenLifetime,
          audit,
        });
        return newest ? ring.rotate(delay) : ring.list()[0]!;
      },
    },
    async revoke(target) {
      if ('token' in target)
        throw new ConfigError('revoke()', 'pass one of { client }, { user }, { grant } and { all: true }');
      const revoke = createRevoke(storage, {
        verify: async () => undefined,
        audit,
        invalidate: invalidation.notify,
      });
      await revoke(target);
    },
    prune: async (pruning = {}) => pruneExpired({ storage, onRemoved }, pruning, PAUSES.command),
    check: async ({ issuer } = {}) =>
      runChecks({
        storage,
        gate,
        scopes,
        keys: material,
        cookieKeys: undefined,
        // The configuration of the servers is not known here: keys are rotated by default, and any cron job may prune.
        keyRotation: 90 * 86_400,
        pruneInterval: 0,
        reportPlainKeys: options.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production',
        issuer: issuer === undefined ? undefined : checkIssuer(issuer).issuer,
      }),
    async close() {
      // The audit log logs a failed write itself.
      await audit.flush().catch(() => {});
      await invalidation.announced();
      await storage.close();
    },
  };
}

const OPTIONS: Readonly<Record<keyof AdministrationOptions, true>> = {
  storage: true,
  gate: true,
  scopes: true,
  resources: true,
  lifetimes: true,
  keyEncryptionKey: true,
  auditRetention: true,
  logger: true,
};

/** The algorithm of the servers is that of the newest key, because a server never signs with a key of another algorithm. */
async function serverAlgorithm(
  newest: StoredKey | undefined,
  material: KeyMaterial,
): Promise<SigningAlgorithm> {
  return newest ? checkAlgorithm((await material.read(newest.material)).alg) : 'ES256';
}

import { createAuditLog } from '../record/audit-log.ts';
import { createClientImport } from '../clients/import.ts';
import type { ImportedClient, ImportOutcome } from '../clients/import.ts';
import { createClientRegistry } from '../clients/registry.ts';
import { now } from '../contracts/clock.ts';
import type {
  Finding,
  Gate,
  KeyStore,
  PermissionOf,
  RoleOf,
  Seconds,
  StoredKey,
  User,
} from '../contracts/index.ts';
import { beginStackAt, ConfigError } from '../errors.ts';
import { createKeyRing } from '../keys/key-ring.ts';
import { addKey } from '../keys/keys.ts';
import { createKeyMaterial } from '../keys/material.ts';
import type { KeyMaterial } from '../keys/material.ts';
import { describeKey, encryptKeys, kindOf, listSigningKeys, revokeKeys } from '../keys/stored-keys.ts';
import type { SigningKey } from '../keys/stored-keys.ts';
import { object, optional, pick, readOptions } from '../options/declare.ts';
import type { Given, Values } from '../options/declare.ts';
import { lifetimes } from '../options/lifetimes.ts';
import { authServerOptions, RETENTION } from '../options/options.ts';
import { rotationDelay, signingAlgorithm } from '../options/tokens.ts';
import type { SigningAlgorithm } from '../options/tokens.ts';
import { scopesAboutUser } from '../options/about-user.ts';
import { issuerUrl } from '../options/paths.ts';
import { checkGate } from '../options/ports.ts';
import { requireKeyEncryptionKey } from '../options/resolve.ts';
import { scopesOfAll } from '../options/resources.ts';
import { features as checkFeatures } from '../options/features.ts';
import { requirePermissions } from '../options/scopes.ts';
import type { Scope } from '../options/scopes.ts';
import { lifetimeCheck } from '../options/lifetimes.ts';
import { createUserData } from '../account/user-data.ts';
import type { Feature } from '../features/feature.ts';
import {
  clientFieldsOf,
  clientKindsOf,
  clientSourcesOf,
  examinationsOf,
  exportsOf,
  featuresOf,
  prunesOf,
  storedEventRulesOf,
} from '../features/known.ts';
import { CacheInvalidation } from '../token/cache-invalidation.ts';
import { createRevoke } from '../token/revoke.ts';
import type { RevocationTarget } from '../token/revoke.ts';
import type { AuthServer } from './auth-server.ts';
import { createOnRemoved, PAUSES, PRUNE, pruneExpired } from './jobs.ts';
import { COOKIE_KEY_AGE } from './keys.ts';

const audited = object(pick(RETENTION, 'audit'));

const retention: typeof audited = (place, given) => {
  if ('pruneInterval' in Object(given)) {
    throw new ConfigError(
      `${place}.pruneInterval`,
      'leave it out: an administration deletes expired rows only when prune() is called',
    );
  }
  return audited(place, given);
};

const TOKENS = {
  /** The lifetimes of the servers, which limit those of clients. @default no limit */
  lifetimes: optional(lifetimes),
};

function administrationOptions<P extends string, R extends string>() {
  const server = authServerOptions<P, R, User, object, string>();
  return {
    ...pick(server, 'storage', 'scopes', 'resources', 'features', 'secrets', 'logger'),
    /** How long audit events are kept, the servers' `retention.audit`; `pruneInterval` is for servers only. */
    retention: optional(retention, {}),
    /** The gate of the servers, by which names of roles and permissions are checked. @default they are not checked */
    gate: optional(checkGate<P, R, object>),
    /** The features of the servers, by which the kinds of clients are checked. @default all of this package */
    features: optional(checkFeatures),
    /** The servers' `tokens`, as far as clients depend on it. */
    tokens: optional(object(TOKENS), {}),
  };
}

/** The options of `createAdministration()`: those of `createAuthServer()` that concern stored data. */
export interface AdministrationOptions<P extends string = string, R extends string = string> extends Given<
  ReturnType<typeof administrationOptions<P, R>>
> {}

const ROTATION = {
  /** The delay after which the key signs: at least 30 seconds, and more than twice the servers' `tokens.revocationLag`. @default '1 minute' */
  after: optional(rotationDelay, '1 minute'),
  /** How long the previous key is kept: at least the servers' `tokens.lifetimes.accessToken`. @default '1 year' */
  accessTokenLifetime: optional(lifetimeCheck, '1 year'),
  /** The servers' `tokens.algorithm`. @default that of the newest key, else 'ES256' */
  algorithm: optional(signingAlgorithm),
};

const CHECK = { issuer: optional(issuerUrl) };

/** The options of `signingKeys.rotate()`. They have to match the configuration of the servers that will sign with the key. */
export interface KeyRotation extends Given<typeof ROTATION> {}

/** What `signingKeys.revoke()` has done. */
export interface KeyRevocation {
  /** The new signing key. */
  readonly key: SigningKey;
  /** The ids of the keys that were ended. */
  readonly revoked: readonly string[];
}

/**
 * Administration of a storage, with or without running servers.
 *
 * Every method but `doctor()` throws `StorageError` when the storage cannot be reached.
 */
export interface Administration<G extends Gate = Gate> extends Pick<
  AuthServer<G>,
  'audit' | 'clients' | 'prune' | 'userData'
> {
  /**
   * Imports a client of another server with its id and its secret. When a client with this id exists, it stays unchanged, so
   * that an import can be repeated.
   *
   * @param options.dryRun - checks the client and resolves to the outcome without importing it
   * @throws ValidationError with one entry per mistake, on a dry run too
   */
  importClient(
    client: ImportedClient<PermissionOf<G>, RoleOf<G>>,
    options?: { dryRun?: boolean },
  ): Promise<ImportOutcome>;
  /** The keys that sign tokens, and those that sign cookies. */
  readonly signingKeys: {
    /** Lists the keys that sign tokens and have not retired: those of access tokens before those of ID tokens, the newest of each first. */
    list(): Promise<readonly SigningKey[]>;
    /**
     * Creates a new key. It is published at once and signs after a delay, by which every server has read it; the first key of a
     * storage signs at once. Tokens that were signed with the previous key stay valid until they expire. A key for cookies that is
     * older than 30 days is replaced too.
     *
     * @throws ConfigError when an option is wrong, when stored keys are encrypted with another `secrets.keyEncryptionKey`, and when the
     * option is missing in production and the storage is `durable`
     */
    rotate(options?: KeyRotation): Promise<SigningKey>;
    /**
     * Encrypts all stored keys anew with the first `secrets.keyEncryptionKey`, also those that are not encrypted yet, so that servers need
     * no other one any more. Servers that have both can run meanwhile. Resolves to the number of keys.
     *
     * @throws ConfigError without `secrets.keyEncryptionKey`, and when a key was encrypted with one that was not given
     */
    encrypt(): Promise<number>;
    /**
     * Ends all keys at once, because they have leaked: adds new ones, which sign at once. Servers refuse all access tokens and
     * cookies of the former ones within their `tokens.revocationLag`; refresh tokens and consents stay. Repeat a call that has failed.
     *
     * @param options.algorithm - the servers' `tokens.algorithm`; when given, no former key has to be decrypted.
     * @default that of the newest key, else 'ES256'
     * @throws ConfigError as `rotate()` does
     */
    revoke(options?: Pick<KeyRotation, 'algorithm'>): Promise<KeyRevocation>;
  };
  /**
   * Revokes, as `auth.revoke()` does, all tokens of a client, all tokens and logins of a user, one grant, or everything. Running servers
   * refuse them within their `tokens.revocationLag`.
   *
   * @throws ConfigError for anything else, a token included: only a server can verify one
   */
  revoke(target: Exclude<RevocationTarget, { readonly token: string }>): Promise<void>;
  /** The members that a feature adds to an administration. @throws ConfigError when it adds nothing */
  featureMembers<Api extends object>(this: void, feature: Feature<Api>): Promise<Api>;
  /**
   * Checks the storage, keys and clients. Resolves to the problems, errors first; an unreachable storage is one of them.
   *
   * @param options.issuer - also checks the server at this URL over the network
   * @throws ConfigError when the issuer is not a base URL
   */
  doctor(options?: { issuer?: string }): Promise<readonly Finding[]>;
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
): Administration<Gate<P, R>> {
  const given = readOptions(administrationOptions<P, R>(), options);
  // Running servers learn of changes at once where the storage can tell them.
  const invalidation = new CacheInvalidation(given.storage.changes);
  const { storage } = given;
  const forget = storage.ends.onWritten(({ change, kind }) => {
    if (kind !== 'session') invalidation.announce(change);
  });
  const scopes = given.gate && scopesFor(options, given, given.gate);
  const material = createKeyMaterial(given.secrets.keyEncryptionKey ?? []);
  const features = featuresOf({ features: given.features ?? [] });
  const audit = createAuditLog(storage.audit, {
    logger: given.logger,
    retention: given.retention.audit,
    rules: storedEventRulesOf(features),
  });
  // Not known here: whether the servers accept keys.
  const names = {
    gate: given.gate,
    scopes,
    lifetimes: given.tokens.lifetimes,
    privateKeyJwt: undefined,
    kinds: clientKindsOf(given.features && features),
    sources: clientSourcesOf(features),
    further: clientFieldsOf(given.features && features),
  };
  const onRemoved = createOnRemoved(audit, (clientId) => invalidation.announce({ clientId }));

  const revokeHere = createRevoke(storage, {
    verify: async () => undefined,
    audit,
    invalidate: invalidation.notify,
  });

  return {
    audit,
    clients: createClientRegistry(storage.clients, names, {
      audit,
      onChange: (clientId) => invalidation.announce({ clientId }),
    })(),
    importClient: createClientImport(storage, names, ({ id: clientId, name }) =>
      audit.record({ type: 'client_created', clientId, name }),
    ),
    signingKeys: {
      list: async () => listSigningKeys(storage.keys),
      async rotate(rotation = {}) {
        const {
          accessTokenLifetime: lifetime,
          after: delay,
          algorithm,
        } = readOptions(ROTATION, rotation, 'signingKeys.rotate()');
        requireKeyEncryptionKey(options.secrets?.keyEncryptionKey, storage);
        const newest = (await storage.keys.list('token')).at(-1);
        const ring = await createKeyRing(storage.keys, material, {
          use: 'token',
          algorithm: algorithm ?? (await serverAlgorithm(newest, material)),
          lifetime,
          audit,
        });
        if (!newest) return ring.list()[0]!;
        await rotateIdTokenKey(storage.keys, material, delay);
        await rotateCookieKey(storage.keys, material, delay);
        return ring.rotate(delay);
      },
      async encrypt() {
        if (!material.encrypts) {
          throw new ConfigError(
            'secrets.keyEncryptionKey',
            'give the new one first, and those of the stored keys after it (on the command line KEY_ENCRYPTION_KEY, with commas)',
          );
        }
        return encryptKeys(storage.keys, material);
      },
      async revoke(revocation = {}) {
        const { algorithm } = readOptions(pick(ROTATION, 'algorithm'), revocation, 'signingKeys.revoke()');
        requireKeyEncryptionKey(options.secrets?.keyEncryptionKey, storage);
        const newest = (await storage.keys.list('token')).at(-1);
        const { added, revoked } = await revokeKeys(
          storage.keys,
          material,
          algorithm ?? (await serverAlgorithm(newest, material)),
        );
        audit.record({ type: 'key_rotated', keyId: added.id });
        for (const { id: keyId } of revoked) audit.record({ type: 'key_revoked', keyId });
        return { key: describeKey(added, added.id), revoked: revoked.map(({ id }) => id) };
      },
    },
    async featureMembers(feature) {
      if (!feature.administer)
        throw new ConfigError('featureMembers()', `${feature.name}() adds nothing to an administration`);
      return feature.administer({
        storage,
        audit,
        announce: invalidation.announce,
        scopesOf(resource) {
          if (scopes === undefined) return 'unknown';
          return resource === undefined
            ? given.scopes
            : (given.resources?.get(resource)?.scopes ?? 'unknown');
        },
      });
    },
    userData: createUserData({
      audit,
      announce: () => invalidation.announce(),
      exports: exportsOf(features, storage),
      revoke: async (target) => revokeHere(target),
      storage,
    }),
    async revoke(target) {
      if ('token' in target)
        throw new ConfigError(
          'revoke()',
          'pass one of { clientId }, { userId }, { grantId } and { all: true }',
        );
      await revokeHere(target);
    },
    prune: async (pruning = {}) =>
      pruneExpired(
        { storage, ofFeatures: prunesOf(features), onRemoved },
        readOptions(PRUNE, pruning, 'prune()'),
        PAUSES.command,
      ),
    doctor: async (checked = {}) => {
      const { issuer } = readOptions(CHECK, checked);
      const { runChecks } = await import('./doctor/run-checks.ts');
      return runChecks({
        storage,
        examine: examinationsOf(features),
        gate: given.gate,
        scopes,
        keys: material,
        cookieKeys: given.secrets.cookieKeys,
        // The configuration of the servers is not known here: keys are rotated by default, and any cron job may prune.
        keyRotation: 90 * 86_400,
        pruneInterval: 0,
        reportPlainKeys:
          options.secrets?.keyEncryptionKey === false || process.env['NODE_ENV'] === 'production',
        issuer,
      });
    },
    async close() {
      // The audit log logs a failed write itself.
      await audit.flush().catch(() => {});
      forget();
      await invalidation.announced();
      await storage.close();
    },
  };
}
beginStackAt(createAdministration);

// With the servers' default `tokens.revocationLag`. A cookie key never signs at once: see `ServerKeys`.
const READ_BY_ALL: Seconds = 60;

/** Where ID tokens have keys of their own. The servers retire the former one, because they know how long it is needed. */
async function rotateIdTokenKey(store: KeyStore, material: KeyMaterial, delay: Seconds): Promise<void> {
  const stored = await store.list('id_token');
  const newest = stored.at(-1);
  if (!newest) return;
  const kind = await kindOf(newest, material);
  await addKey(store, material, { ...kind, after: stored, activeAt: now() + delay });
}

/** The servers retire the former key, because they know how long cookies are valid. */
async function rotateCookieKey(store: KeyStore, material: KeyMaterial, delay: Seconds): Promise<void> {
  const stored = await store.list('cookie');
  const newest = stored.at(-1);
  if (!newest || newest.createdAt > now() - COOKIE_KEY_AGE) return;
  const activeAt = now() + Math.max(delay, READ_BY_ALL);
  await addKey(store, material, { use: 'cookie', after: stored, activeAt });
}

/** The scopes of all APIs. `undefined`: neither option was given, and names of scopes are not checked. */
function scopesFor<P extends string, R extends string>(
  { resources, scopes }: AdministrationOptions<P, R>,
  given: Values<ReturnType<typeof administrationOptions<P, R>>>,
  gate: Gate<P, R>,
): ReadonlyMap<string, Scope<P>> | undefined {
  if (scopes === undefined && resources === undefined) return undefined;
  requirePermissions('scopes', given.scopes, gate);
  for (const [url, api] of given.resources ?? []) {
    requirePermissions(`resources['${url}'].scopes`, api.scopes, gate);
  }
  const ofUsers = (given.features ?? []).flatMap(({ aboutUser }) =>
    aboutUser ? [{ scopes: scopesAboutUser(aboutUser) }] : [],
  );
  return scopesOfAll([{ scopes: given.scopes }, ...(given.resources?.values() ?? []), ...ofUsers]);
}

/** The algorithm of the servers is that of the newest key, because a server never signs with a key of another algorithm. */
async function serverAlgorithm(
  newest: StoredKey | undefined,
  material: KeyMaterial,
): Promise<SigningAlgorithm> {
  return (newest && (await kindOf(newest, material)).algorithm) ?? 'ES256';
}

import { createAssignments } from '../access/assignments.ts';
import { createGuard } from '../access/guard.ts';
import type { Guard } from '../access/guard.ts';
import {
  createFindClientPermissions,
  createUserAssignments,
  createPrincipalLoader,
} from '../access/principal.ts';
import type { FindClientPermissions, UserAssignments } from '../access/principal.ts';
import { createClientDirectory } from '../clients/directory.ts';
import { createDocumentDirectory, withoutDocuments } from '../clients/metadata-documents.ts';
import type { DocumentDirectory } from '../clients/metadata-documents.ts';
import { createRecordUse } from '../clients/last-use.ts';
import type { LastUses, RecordUse } from '../clients/last-use.ts';
import { createClientRegistry } from '../clients/registry.ts';
import type { RegistryFor } from '../clients/registry.ts';
import type { Assignments, AuditLog, Trace, User, VerifyAccessToken } from '../contracts/index.ts';
import { createNameMistake } from '../developer/app-names.ts';
import { fieldError } from '../errors.ts';
import type { ConcurrencyLimit } from '../http/concurrency-limit.ts';
import type { PublicFetch } from '../http/public-fetch.ts';
import type { Observers } from '../observability/observers.ts';
import { requireResource } from '../options/resources.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import { createFetchLimit } from '../throttle/fetch-limit.ts';
import type { CacheInvalidation } from '../tokens/cache-invalidation.ts';
import { isTokenActive } from '../tokens/revoke.ts';

/** The parts of the server that the guard and the clients need. */
export interface AccessParts {
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'isClosing'>;
  readonly audit: AuditLog;
  readonly invalidation: CacheInvalidation;
  readonly lastUses: LastUses;
  readonly observers: Observers;
  readonly trace: Trace;
  /** Fetches the documents of clients. */
  readonly publicFetch: PublicFetch;
  /** Names that apps may not have. */
  readonly reservedNames: ReadonlySet<string>;
  /** Makes the verification of tokens that are for an API. */
  readonly verifyFor: (audience: string) => VerifyAccessToken;
}

/** The guard, the clients, and the permissions of clients and users. */
export interface Access<P extends string, R extends string, U extends User> {
  readonly assignments: Assignments<P, R>;
  readonly directory: DocumentDirectory;
  /**
   * The guard of an API. @default that of the issuer
   * @throws ConfigError when the server does not have it
   */
  readonly guardFor: (resource: string | undefined) => Guard<P, U>;
  readonly clientPermissions: FindClientPermissions<P>;
  readonly userAssignments: UserAssignments<U>;
  readonly recordUse: RecordUse;
  readonly registryFor: RegistryFor;
}

/** Creates them, and connects their caches to the changes on this node, which take effect at once. */
export function createAccess<P extends string, R extends string, U extends User>(
  {
    cachedTokens,
    clientIdMetadata,
    deviceAuthorization,
    gate,
    issuer,
    lifetimes,
    logger,
    privateKeyJwt,
    resources,
    revocationLag,
    scopes,
    storage,
    users,
  }: ResolvedOptions<P, R, U>,
  {
    audit,
    concurrencyLimit,
    invalidation,
    lastUses,
    observers,
    publicFetch,
    reservedNames,
    trace,
    verifyFor,
  }: AccessParts,
): Access<P, R, U> {
  const onChange = (clientId: string): void => invalidation.announce({ clientId });
  const registered = createClientDirectory(lastUses.clients, { maxAge: revocationLag, logger });
  const nameMistake = createNameMistake(reservedNames);
  const directory = clientIdMetadata
    ? createDocumentDirectory(registered, {
        store: storage.clients,
        fetch: publicFetch,
        countFetch: createFetchLimit(),
        policy: clientIdMetadata,
        async nameMistake(name) {
          const code = await nameMistake(name);
          return code && fieldError('name', code).message;
        },
        ownHost: new URL(issuer).hostname,
        privateKeyJwt,
        audit,
        logger,
        onChange,
      })
    : withoutDocuments(registered);
  const userAssignments = createUserAssignments({ users, assignments: storage.assignments });
  const clientPermissions = createFindClientPermissions<P>(gate, userAssignments);
  const recordUse = createRecordUse(lastUses.consents, logger);
  const createGuardOf = (api: ResolvedResource<P>): Guard<P, U> =>
    createGuard<P, U>({
      api,
      server: concurrencyLimit,
      logger,
      observers,
      trace,
      revocationLag,
      cachedTokens,
      verify: verifyFor(api.resource),
      async isActive(claims) {
        const active = await isTokenActive(storage.revocations, claims);
        if (active && claims.principal === 'user') recordUse(claims.sub, claims.client_id);
        return active;
      },
      // Not the directory: a cached client in a cached principal could be up to twice `revocationLag` old.
      loadPrincipal: createPrincipalLoader({
        userAssignments,
        clientPermissions,
        clients: storage.clients,
        gate,
        api,
      }),
    });
  const guards = new Map(Array.from(resources, ([resource, api]) => [resource, createGuardOf(api)]));
  const guardFor = (resource = issuer): Guard<P, U> =>
    guards.get(requireResource('guard({ resource })', resource, resources).resource)!;
  invalidation.add((changed) => {
    for (const guard of guards.values()) guard.forget(changed);
  });
  invalidation.add((changed) => {
    if (changed === undefined || changed.clientId !== undefined) directory.forget(changed?.clientId);
  });
  const registryFor = createClientRegistry(
    storage.clients,
    { gate, scopes, lifetimes, privateKeyJwt, authorizesDevices: deviceAuthorization !== undefined },
    { audit, onChange },
  );
  const assignments = createAssignments({
    users,
    gate,
    store: storage.assignments,
    audit,
    onChange: (userId) => invalidation.announce({ userId }),
  });
  return { assignments, directory, guardFor, clientPermissions, userAssignments, recordUse, registryFor };
}

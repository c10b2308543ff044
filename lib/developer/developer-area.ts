import { randomUUID } from 'node:crypto';

import type {
  Assignment,
  AuditEventType,
  AuditLog,
  AuditOrigin,
  AuditQuery,
  AuditRecord,
  CheckedClientRegistry,
  Client,
  ClientChanges,
  ClientRegistry,
  Developer,
  Gate,
  IdempotencyStore,
  User,
  UserStore,
} from '../contracts/index.ts';
import {
  ClientChangedError,
  ClientInvalidError,
  ClientNotFoundError,
  fieldError,
  missingPermission,
  PermissionMissingError,
} from '../errors.ts';
import { begin, digest } from '../http/idempotency.ts';
import { loadAppNameCheck } from './app-names.ts';
import type { CheckAppName } from './app-names.ts';
import { giveTo, offerTo, refuseFirstParty } from './what-apps-get.ts';

/** What the developer area asks of the rest of the server. */
export interface DeveloperAreaPorts {
  /** The registered clients; what is changed through it is recorded as done by `origin`. */
  readonly registryFor: (origin: AuditOrigin) => CheckedClientRegistry;
  readonly audit: Pick<AuditLog, 'list'>;
  readonly gate: Pick<Gate, 'effective' | 'permissions' | 'roles'>;
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  readonly users: Pick<UserStore, 'find'>;
  /** The roles and the single permissions of a user. */
  readonly assignmentOf: (user: User) => Promise<Assignment>;
  /** What an app holds at this moment. */
  readonly clientPermissions: (client: Client) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;
  /** Revokes all tokens of a client; recorded as done by `origin`. */
  readonly revokeFor: (origin: AuditOrigin) => (target: { readonly client: string }) => Promise<void>;
  /** What people may not call their apps. */
  readonly reservedNames: ReadonlySet<string>;
  readonly idempotency: IdempotencyStore;
}

// So that nobody can fill the database by a form; far more than a person needs. Some who are registered at the same moment
// may come on top.
const MOST_APPS = 100;

/**
 * Makes the developer area: what each person may do with which apps. A person with `manage_apps` comes in and has their
 * own apps; one with `manage_all_apps` too has everybody's.
 */
export function createDeveloperArea(
  ports: DeveloperAreaPorts,
): (user: User, origin?: Omit<AuditOrigin, 'actorId'>) => Promise<Developer> {
  const { audit, gate, assignmentOf, registryFor, scopes, users } = ports;
  const once = createOnce(ports.idempotency);

  return async function enter(user, origin = {}): Promise<Developer> {
    const assignment = await assignmentOf(user);
    const effective = gate.effective(assignment);
    if (!effective.has('manage_apps')) throw permissionMissing(gate, 'manage_apps');
    const administrator = effective.has('manage_all_apps');
    const registry = registryFor({ ...origin, actorId: user.id });
    const offer = offerTo({ administrator, assignment }, gate, scopes);

    function isOwn({ ownerId }: Client): boolean {
      return administrator || ownerId === user.id;
    }

    async function findOwned(id: string): Promise<Client | undefined> {
      const client = await registry.find(id);
      return client && isOwn(client) ? client : undefined;
    }

    async function owned(id: string): Promise<Client> {
      const client = await findOwned(id);
      if (client) return client;
      throw new ClientNotFoundError(id);
    }

    function refuseForeign(client: Client): void {
      if (!isOwn(client)) throw new ClientNotFoundError(client.id);
    }

    function canEnable({ disabled, disabledBy }: Client): boolean {
      return administrator || !disabled || disabledBy === user.id;
    }

    return {
      user,
      administrator,
      ...offer,
      async list(query = {}) {
        if (query.after !== undefined && !(await findOwned(query.after))) return [];
        return registry.list({ ...query, ownerId: administrator ? undefined : user.id });
      },
      find: owned,
      owner: async ({ ownerId }) => (ownerId === undefined ? undefined : users.find(ownerId)),
      async create(fields, onceKey) {
        if (!administrator) {
          refuseFirstParty(fields);
          refuseLookAlike(fields.name, await loadAppNameCheck(), [...ports.reservedNames]);
        }
        return once([user.id, 'create', onceKey], async () => {
          if (!administrator) await refuseTooManyApps(registry, user.id);
          const given = forDevelopers(fields);
          return registry.create({ ...given, ...giveTo(undefined, fields, offer), ownerId: user.id });
        });
      },
      async update(id, changes, { ifUpdatedAt } = {}) {
        const rest = forDevelopers(changes);
        const checkName = administrator || changes.name === undefined ? undefined : await loadAppNameCheck();
        return registry.update(id, (client) => {
          refuseForeign(client);
          if (client.updatedAt !== (ifUpdatedAt ?? client.updatedAt)) throw new ClientChangedError();
          if (!administrator) refuseFirstParty(changes, client);
          if (checkName && changes.name !== client.name)
            refuseLookAlike(changes.name, checkName, [...ports.reservedNames]);
          return { ...rest, ...giveTo(client, changes, offer) };
        });
      },
      disable: async (id) => registry.setDisabled(id, true, refuseForeign),
      canEnable: async (id) => canEnable(await owned(id)),
      async enable(id) {
        return registry.setDisabled(id, false, (client) => {
          refuseForeign(client);
          if (!canEnable(client)) throw permissionMissing(gate, 'manage_all_apps');
        });
      },
      async delete(id) {
        await owned(id);
        return registry.delete(id);
      },
      async revokeTokens(id) {
        await owned(id);
        await ports.revokeFor({ ...origin, actorId: user.id })({ client: id });
      },
      async effective(client) {
        return new Set((await ports.clientPermissions(client)).sources.keys());
      },
      async secrets(id) {
        await owned(id);
        return registry.secrets(id);
      },
      async addSecret(id, secret, onceKey) {
        await owned(id);
        return once([user.id, 'addSecret', id, onceKey], async () => registry.addSecret(id, secret));
      },
      async deleteSecret(id, secretId) {
        await owned(id);
        return registry.deleteSecret(id, secretId);
      },
      async activity(id, query = {}) {
        return listActivity(audit, await owned(id), { ...query, administrator });
      },
    };
  };
}

/**
 * What people may say of their apps. The types leave out whose an app is and how long its tokens live; a host's own pages in
 * JavaScript may hand on whatever was posted.
 */
function forDevelopers<F extends ClientChanges>(given: F): Omit<F, 'ownerId' | 'lifetimes'> {
  const { lifetimes: _lifetimes, ownerId: _ownerId, ...rest } = given;
  return rest;
}

function refuseLookAlike(name: unknown, check: CheckAppName, reserved: readonly string[]): void {
  // Anything else is the registry's to refuse.
  const mistake = typeof name === 'string' ? check(name, reserved) : undefined;
  if (mistake) throw new ClientInvalidError([fieldError('name', mistake)]);
}

async function refuseTooManyApps(registry: ClientRegistry, ownerId: string): Promise<void> {
  const apps = await registry.list({ ownerId, limit: MOST_APPS });
  if (apps.length < MOST_APPS) return;
  throw new ClientInvalidError([fieldError('apps', 'too_many_apps', { most: MOST_APPS })]);
}

function permissionMissing(
  { permissions }: Pick<Gate, 'permissions'>,
  permission: string,
): PermissionMissingError {
  const words = Object.hasOwn(permissions, permission) ? permissions[permission] : undefined;
  return new PermissionMissingError(permission, words?.message ?? missingPermission(permission));
}

// As long as a page may lie open, or a browser may come back to it and send its form again.
const REMEMBERED = 24 * 60 * 60;
// Longer than anything here takes: after a crash, the same form can be sent again.
const LEASE = 60;

/**
 * Runs what a form asks for once, whatever the number of times and nodes it is sent to.
 *
 * @param parts - whose form it is, what it does, and the random string in it
 * @returns `undefined` when an earlier call did it, or is about to
 */
export type Once = <T>(parts: readonly string[], run: () => Promise<T>) => Promise<T | undefined>;

function createOnce(store: IdempotencyStore): Once {
  return async function once(parts, run) {
    const id = digest(['form', ...parts]);
    const attempt = { id, fingerprint: id, attempt: randomUUID() };
    if (await begin(store, attempt, { lease: LEASE, retention: REMEMBERED })) return undefined;
    let result;
    try {
      result = await run();
    } catch (error) {
      await store.abandon(attempt);
      throw error;
    }
    // What was made is shown even if this fails: a secret cannot be shown later.
    await store.finish(attempt, { status: 201, body: '{}' }).catch(() => false);
    return result;
  };
}

/** What happens at an app. Who logs in, and when, is theirs. */
const AT_AN_APP: readonly AuditEventType[] = [
  'token_issued',
  'token_refused',
  'authorization_refused',
  'consent_given',
  'consent_denied',
  'consent_withdrawn',
  'client_created',
  'client_updated',
  'client_disabled',
  'client_enabled',
  'secret_added',
  'secret_deleted',
  'tokens_revoked',
];

/** What happened at an app, newest first, without what its owner should not learn of the people who use it. */
async function listActivity(
  audit: Pick<AuditLog, 'list'>,
  client: Client,
  { administrator, ...query }: Pick<AuditQuery, 'before' | 'limit'> & { administrator: boolean },
): Promise<readonly AuditRecord[]> {
  const records = await audit.list({ ...query, clientId: client.id, types: AT_AN_APP });
  if (administrator) return records;
  return records.map((record) => {
    // The address of an app that acts for itself is the developer's own; any other is that of somebody's home.
    if (client.grantType === 'client_credentials' && record.actorId === undefined) return record;
    const { address: _address, ...rest } = record;
    return rest;
  });
}

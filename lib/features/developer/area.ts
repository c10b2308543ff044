import { confirmAbsence } from '../../contracts/confirm-absence.ts';
import type {
  Assignment,
  AuditLog,
  AuditOrigin,
  CheckedClientRegistry,
  Client,
  ClientChanges,
  ClientRegistry,
  FurtherFields,
  Gate,
  Seconds,
  Storage,
  User,
  UserStore,
} from '../../contracts/index.ts';
import { fieldError } from '../../contracts/field-errors.ts';
import {
  ClientChangedError,
  ClientInvalidError,
  ClientNotFoundError,
  missingPermission,
  PermissionMissingError,
} from '../../errors.ts';
import type { EventRules } from '../../record/event-rules.ts';
import type { CheckAppName } from '../../clients/app-names.ts';
import { checkAssigned, findAssignable, refuseAdministratorChanges } from './assignable.ts';
import { countUsage, listActivity } from './activity.ts';
import { createOnce } from '../../account/once.ts';
import type { Developer } from './types.ts';

/** What `createDeveloperArea()` takes. */
export interface DeveloperAreaPorts {
  /** The client registry whose audit events have `origin`. */
  readonly registryFor: (origin: AuditOrigin) => CheckedClientRegistry;
  readonly audit: Pick<AuditLog, 'countByDay' | 'list'>;
  readonly eventRules: EventRules;
  /** How long audit events are stored; 0 when they are not. */
  readonly retention: Seconds;
  readonly gate: Pick<Gate, 'effectivePermissions' | 'permissions' | 'roles'>;
  /** Every scope that an app may request. */
  readonly scopes: Developer['scopes'];
  readonly users: Pick<UserStore, 'find'>;
  /** The roles and the direct permissions of a user. */
  readonly assignmentOf: (user: User) => Promise<Assignment>;
  /** The current permissions of an app. */
  readonly clientPermissions: (client: Client) => Promise<{ readonly sources: ReadonlyMap<string, unknown> }>;
  /** Revokes all tokens of a client, with an audit event that has `origin`. */
  readonly revokeFor: (origin: AuditOrigin) => (target: { readonly clientId: string }) => Promise<void>;
  /** Loads the check of the names that apps of users may have. */
  readonly loadNameCheck: () => Promise<CheckAppName>;
  /** Whether apps can authenticate with keys. */
  readonly privateKeyJwt: boolean;
  /** The fields of clients that features add. */
  readonly furtherFields: FurtherFields;
  readonly storage: Pick<Storage, 'confirm' | 'idempotency'>;
}

// Limits the rows that one user can add by a form; far more than a user needs. Concurrent requests may exceed it by a few, because
// counting and creating are not one transaction.
const MAX_APPS = 100;

/**
 * Creates the developer area, which holds the operations on apps that a user is allowed. A user with `manage_apps` manages
 * their own apps; a user who also has `manage_all_apps` manages all apps.
 */
export function createDeveloperArea(
  ports: DeveloperAreaPorts,
): (user: User, origin?: Omit<AuditOrigin, 'actorId'>) => Promise<Developer> {
  const { audit, gate, assignmentOf, registryFor, scopes, storage, users } = ports;
  const once = createOnce(storage.idempotency);

  return async function developerOf(user, origin = {}): Promise<Developer> {
    const assignment = await assignmentOf(user);
    const effective = gate.effectivePermissions(assignment);
    if (!effective.has('manage_apps')) throw permissionMissing(gate, 'manage_apps');
    const administrator = effective.has('manage_all_apps');
    const registry = registryFor({ ...origin, actorId: user.id });
    const assignable = findAssignable({ administrator, assignment }, gate, scopes);

    function isOwn({ ownerId }: Client): boolean {
      return administrator || ownerId === user.id;
    }

    async function findOwn(id: string): Promise<Client | undefined> {
      const client = await registry.find(id);
      return client && isOwn(client) ? client : undefined;
    }

    async function requireOwn(id: string): Promise<Client> {
      // An owner who has deleted an app may open its page again.
      const client = await confirmAbsence(storage, findOwn(id));
      if (client) return client;
      throw new ClientNotFoundError(id);
    }

    function refuseIfNotOwn(client: Client): void {
      if (!isOwn(client)) throw new ClientNotFoundError(client.id);
    }

    function canEnable({ disabled, disabledBy }: Client): boolean {
      return administrator || !disabled || disabledBy === user.id;
    }

    return {
      user,
      administrator,
      acceptsKeys: ports.privateKeyJwt,
      furtherFields: ports.furtherFields.on,
      storesEvents: ports.retention > 0,
      ...assignable,
      async list(query = {}) {
        if (query.after !== undefined && !(await findOwn(query.after))) return [];
        return registry.list({ ...query, ownerId: administrator ? undefined : user.id });
      },
      find: requireOwn,
      owner: async ({ ownerId }) => (ownerId === undefined ? undefined : users.find(ownerId)),
      async create(fields, onceKey) {
        if (!administrator) {
          refuseAdministratorChanges(fields, ports.furtherFields.all);
          refuseConfusableName(fields.name, await ports.loadNameCheck());
        }
        return once([user.id, 'create', onceKey], async () => {
          if (!administrator) await refuseTooManyApps(registry, user.id);
          const given = withoutAdministratorFields(fields, administrator);
          return registry.create({
            ...given,
            ...checkAssigned(undefined, fields, assignable),
            ownerId: user.id,
          });
        });
      },
      async update(id, changes, { ifUpdatedAt } = {}) {
        const rest = withoutAdministratorFields(changes, administrator);
        const checkName =
          administrator || changes.name === undefined ? undefined : await ports.loadNameCheck();
        return registry.update(id, (client) => {
          refuseIfNotOwn(client);
          if (client.updatedAt !== (ifUpdatedAt ?? client.updatedAt)) throw new ClientChangedError();
          if (!administrator) refuseAdministratorChanges(changes, ports.furtherFields.all, client);
          if (checkName && changes.name !== client.name) refuseConfusableName(changes.name, checkName);
          return { ...rest, ...checkAssigned(client, changes, assignable) };
        });
      },
      async setLogo(id, picture) {
        return registry.setLogo(id, picture, (client) => {
          refuseIfNotOwn(client);
          if (client.firstParty && !administrator)
            throw new ClientInvalidError([fieldError('logo', 'first_party_fixed')]);
        });
      },
      disable: async (id) => registry.setDisabled(id, true, refuseIfNotOwn),
      canEnable: async (id) => canEnable(await requireOwn(id)),
      async enable(id) {
        return registry.setDisabled(id, false, (client) => {
          refuseIfNotOwn(client);
          if (!canEnable(client)) throw permissionMissing(gate, 'manage_all_apps');
        });
      },
      async delete(id) {
        await requireOwn(id);
        return registry.delete(id);
      },
      async revokeTokens(id) {
        await requireOwn(id);
        await ports.revokeFor({ ...origin, actorId: user.id })({ clientId: id });
      },
      async effectivePermissions(client) {
        return new Set((await ports.clientPermissions(client)).sources.keys());
      },
      async secrets(id) {
        await requireOwn(id);
        return registry.secrets(id);
      },
      async addSecret(id, secret, onceKey) {
        await requireOwn(id);
        return once([user.id, 'addSecret', id, onceKey], async () => registry.addSecret(id, secret));
      },
      async deleteSecret(id, secretId) {
        await requireOwn(id);
        return registry.deleteSecret(id, secretId);
      },
      async activity(id, query = {}) {
        return listActivity({ audit, rules: ports.eventRules, users }, await requireOwn(id), {
          ...query,
          administrator,
        });
      },
      async usage(id) {
        return countUsage({ audit, retention: ports.retention }, await requireOwn(id));
      },
    };
  };
}

/**
 * Removes the fields that developers may not set: the owner and the token lifetimes. The types exclude them, but a host's own
 * pages in JavaScript may pass on every posted field. A change by a developer does not keep the mark of a verified app either.
 */
function withoutAdministratorFields<F extends ClientChanges>(
  given: F,
  administrator: boolean,
): Omit<F, 'ownerId' | 'lifetimes' | 'verified'> & Pick<ClientChanges, 'verified'> {
  const { lifetimes: _lifetimes, ownerId: _ownerId, verified, ...rest } = given;
  return administrator && verified !== undefined ? { ...rest, verified } : rest;
}

function refuseConfusableName(name: unknown, check: CheckAppName): void {
  // The registry refuses a name that is no string.
  const mistake = typeof name === 'string' ? check(name) : undefined;
  if (mistake) throw new ClientInvalidError([mistake]);
}

async function refuseTooManyApps(registry: ClientRegistry, ownerId: string): Promise<void> {
  const apps = await registry.list({ ownerId, limit: MAX_APPS });
  if (apps.length < MAX_APPS) return;
  throw new ClientInvalidError([fieldError('apps', 'too_many_apps', { most: MAX_APPS })]);
}

function permissionMissing(
  { permissions }: Pick<Gate, 'permissions'>,
  permission: string,
): PermissionMissingError {
  const text = Object.hasOwn(permissions, permission) ? permissions[permission] : undefined;
  return new PermissionMissingError(permission, text?.message ?? missingPermission(permission));
}

import type {
  AuditLog,
  AuthorizedApps,
  Storage,
  User,
  UserGrantsRegistry,
  UserGrantTarget,
} from '../contracts/index.ts';
import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import { ConfigError } from '../errors.ts';
import type { UserGrantKind } from '../features/feature.ts';
import { checkNames, isObject } from '../options/declare.ts';

/** What `createUserGrants()` takes. */
export interface UserGrantsPorts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly authorizedAppsOf: (user: Pick<User, 'id'>) => AuthorizedApps;
  /** Those of features. */
  readonly kinds: readonly UserGrantKind[];
  readonly storage: Pick<Storage, 'confirm' | 'sessions' | 'userData'>;
}

/** Creates `auth.grants`: what the pages of a user show and end, for a settings page of the host's own. */
export function createUserGrants({
  audit,
  authorizedAppsOf,
  kinds,
  storage,
}: UserGrantsPorts): UserGrantsRegistry {
  const { sessions, userData } = storage;

  async function endSession(userId: string, id: string): Promise<boolean> {
    if (!(await confirmAbsence(storage, hasSession(userId, id)))) return false;
    await sessions.end(id);
    audit.record({ type: 'logout', userId });
    return true;
  }

  async function hasSession(userId: string, id: string): Promise<boolean> {
    return (await userData.sessions(userId, now())).some((session) => session.id === id);
  }

  return {
    async list(userId) {
      const [apps, sessionsOfUser, ...added] = await Promise.all([
        authorizedAppsOf({ id: userId }).list(),
        userData.sessions(userId, now()),
        ...kinds.map(async ({ list, of }) => [list, await of(userId)] as const),
      ]);
      return { apps, sessions: sessionsOfUser, ...Object.fromEntries(added) };
    },
    async revoke(userId, target) {
      checkTarget(target, kinds);
      const apps = authorizedAppsOf({ id: userId });
      if ('app' in target) return apps.disconnect(target.app);
      if ('session' in target) return endSession(userId, target.session);
      if ('connection' in target) return apps.endConnection(undefined, target.connection);
      const [[name, id]] = Object.entries(target) as [[string, string]];
      const kind = kinds.find((one) => one.target === name)!;
      return (await confirmAbsence(storage, hasGrant(kind, userId, id))) && kind.end(id);
    },
  };
}

// A misspelt target would end nothing without an error.
function checkTarget(target: UserGrantTarget, kinds: readonly UserGrantKind[]): void {
  const names = [...KINDS, ...kinds.map((kind) => kind.target)].toSorted();
  if (isObject(target))
    checkNames(target, Object.fromEntries(names.map((name) => [name, true])), 'grants.revoke()');
  const [value, ...more]: unknown[] = Object.values(target ?? {});
  if (isObject(target) && more.length === 0 && typeof value === 'string' && value !== '') return;
  const listed = names.map((name) => `{ ${name} }`);
  throw new ConfigError(
    'grants.revoke()',
    `pass one of ${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}, with an id of grants.list()`,
  );
}

const KINDS = ['app', 'connection', 'session'];

async function hasGrant({ of }: UserGrantKind, userId: string, id: string): Promise<boolean> {
  return (await of(userId)).some((grant) => grant.id === id);
}

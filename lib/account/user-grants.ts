import type {
  AuditLog,
  AuthorizedApps,
  LogoutNotices,
  PersonalToken,
  Storage,
  User,
  UserGrantsRegistry,
  UserGrantTarget,
} from '../contracts/index.ts';
import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import { ConfigError } from '../errors.ts';
import { checkNames, isObject } from '../options/declare.ts';

/** What `createUserGrants()` takes. */
export interface UserGrantsPorts {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly authorizedAppsOf: (user: Pick<User, 'id'>) => AuthorizedApps;
  /** `undefined`: no client is told of logouts. */
  readonly logouts: LogoutNotices | undefined;
  /** `undefined`: there are none. */
  readonly personalTokens:
    | {
        list(userId: string): Promise<readonly PersonalToken[]>;
        revokeOfUser(userId: string, id: string): Promise<boolean>;
      }
    | undefined;
  /** @throws ConfigError when the storage is older than this */
  readonly requireStore: () => void;
  readonly storage: Pick<Storage, 'confirm' | 'sessions' | 'userData'>;
}

/** Creates `auth.grants`: what the pages of a user show and end, for a settings page of the host's own. */
export function createUserGrants({
  audit,
  authorizedAppsOf,
  logouts,
  personalTokens,
  requireStore,
  storage,
}: UserGrantsPorts): UserGrantsRegistry {
  const { sessions, userData } = storage;

  async function endSession(userId: string, id: string): Promise<boolean> {
    if (!(await confirmAbsence(storage, hasSession(userId, id)))) return false;
    await sessions.delete(id, logouts?.create());
    logouts?.stored();
    audit.record({ type: 'logout', userId });
    return true;
  }

  async function hasSession(userId: string, id: string): Promise<boolean> {
    return (await userData.sessions(userId, now())).some((session) => session.id === id);
  }

  return {
    async list(userId) {
      requireStore();
      const [apps, tokens, found] = await Promise.all([
        authorizedAppsOf({ id: userId }).list(),
        personalTokens?.list(userId) ?? [],
        userData.sessions(userId, now()),
      ]);
      return { apps, personalTokens: tokens, sessions: found };
    },
    async revoke(userId, target) {
      checkTarget(target);
      requireStore();
      const apps = authorizedAppsOf({ id: userId });
      if ('app' in target) return apps.disconnect(target.app);
      if ('session' in target) return endSession(userId, target.session);
      if ('connection' in target) return apps.endConnection(undefined, target.connection);
      return (await personalTokens?.revokeOfUser(userId, target.personalToken)) ?? false;
    },
  };
}

// A misspelt target would end nothing without an error.
function checkTarget(target: UserGrantTarget): void {
  if (isObject(target)) checkNames(target, KINDS, 'grants.revoke()');
  const [value, ...more]: unknown[] = Object.values(target ?? {});
  if (more.length === 0 && typeof value === 'string' && value !== '') return;
  throw new ConfigError(
    'grants.revoke()',
    'pass one of { app }, { connection }, { personalToken } and { session }, with an id of grants.list()',
  );
}

const KINDS = { app: true, connection: true, personalToken: true, session: true };

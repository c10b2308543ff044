import type {
  AuthorizedApps,
  Storage,
  User,
  UserGrantsRegistry,
  UserGrantTarget,
  UserSessions,
} from '../contracts/index.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import { ConfigError } from '../errors.ts';
import type { UserGrantKind } from '../features/feature.ts';
import { checkNames, isObject } from '../options/declare.ts';

/** What `createUserGrants()` takes. */
export interface UserGrantsPorts {
  readonly authorizedAppsOf: (user: Pick<User, 'id'>) => AuthorizedApps;
  /** The kinds of grants of features. */
  readonly kinds: readonly UserGrantKind[];
  readonly storage: Pick<Storage, 'confirm'>;
  readonly userSessionsOf: (userId: string) => UserSessions;
}

/** Creates `auth.userGrants`: what the user's pages show and end, for a settings page of the host. */
export function createUserGrants({
  authorizedAppsOf,
  kinds,
  storage,
  userSessionsOf,
}: UserGrantsPorts): UserGrantsRegistry {
  return {
    async list(userId) {
      const [apps, ofSessions, ...added] = await Promise.all([
        authorizedAppsOf({ id: userId }).list(),
        userSessionsOf(userId).list(),
        ...kinds.map(async ({ list, of }) => [list, await of(userId)] as const),
      ]);
      return { clients: apps, ...ofSessions, ...Object.fromEntries(added) };
    },
    async revoke(userId, target) {
      checkTarget(target, kinds);
      const apps = authorizedAppsOf({ id: userId });
      if ('clientId' in target) return apps.revoke(target.clientId);
      if ('sessionId' in target) return userSessionsOf(userId).end(target.sessionId);
      if ('grantId' in target) return apps.revokeGrant(undefined, target.grantId);
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
    checkNames(target, Object.fromEntries(names.map((name) => [name, true])), 'userGrants.revoke()');
  const [value, ...more]: unknown[] = Object.values(target ?? {});
  if (isObject(target) && more.length === 0 && typeof value === 'string' && value !== '') return;
  const listed = names.map((name) => `{ ${name} }`);
  throw new ConfigError(
    'userGrants.revoke()',
    `pass one of ${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}, with an id of userGrants.list()`,
  );
}

const KINDS = ['clientId', 'grantId', 'sessionId'];

async function hasGrant({ of }: UserGrantKind, userId: string, id: string): Promise<boolean> {
  return (await of(userId)).some((grant) => grant.id === id);
}

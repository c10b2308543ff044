/** Checks at start that the storage has what the features that are on call: one of the host may be older than a feature. */
import type { Storage } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';

type Methods<T> = Exclude<
  { [N in keyof T]: T[N] extends (...args: never) => unknown ? N : never }[keyof T],
  symbol | number | undefined
>;

type StoreName = Exclude<keyof Storage, Methods<Storage> | 'changes' | 'confirm' | 'durable'>;

/** A method of a storage or of one of its stores, such as `migrate` or `clients.find`. */
type StorageMember = Methods<Storage> | { [S in StoreName]: `${S}.${Methods<Storage[S]>}` }[StoreName];

const EVERY_SERVER: readonly StorageMember[] = [
  'transaction',
  'migrate',
  'pendingMigrations',
  'prune',
  'state',
  'diagnose',
  'access',
  'close',
  'clients.find',
  'clients.insert',
  'clients.update',
  'clients.delete',
  'clients.list',
  'clients.addSecret',
  'clients.deleteSecret',
  'clients.expireSecret',
  'clients.touchSecret',
  'clients.rehashSecret',
  'consents.find',
  'consents.add',
  'consents.touch',
  'consents.delete',
  'consents.deleteAll',
  'consents.list',
  'grants.insert',
  'grants.find',
  'grants.findCredential',
  'grants.redeem',
  'grants.revoke',
  'revocations.revokeToken',
  'revocations.revokeAllOf',
  'revocations.latestSequence',
  'revocations.isValid',
  'sessions.insert',
  'sessions.find',
  'sessions.update',
  'sessions.delete',
  'sessions.deleteOfUser',
  'keys.list',
  'keys.insert',
  'keys.retire',
  'keys.replaceMaterial',
  'attempts.count',
  'attempts.release',
  'registrations.addConsent',
  'registrations.deleteUnused',
];

const IDEMPOTENCY = [
  'idempotency.begin',
  'idempotency.extend',
  'idempotency.finish',
  'idempotency.abandon',
] as const;

const FEATURES = {
  // Assignments are of the storage when the user store has no permissions and no roles.
  users: ['assignments.find', 'assignments.save', 'assignments.delete'],
  'retention.audit': ['audit.append', 'audit.list'],
  'clients.devices': [
    'deviceCodes.insert',
    'deviceCodes.find',
    'deviceCodes.findByUserCode',
    'deviceCodes.poll',
    'deviceCodes.approve',
    'deviceCodes.deny',
  ],
  'clients.registration': ['registrations.insert', 'registrations.find'],
  'clients.keys': ['clients.redeemAssertion'],
  actions: IDEMPOTENCY,
  'paths.developer': IDEMPOTENCY,
  limits: ['attempts.reserve'],
} as const satisfies Readonly<Record<string, readonly StorageMember[]>>;

/** @throws ConfigError when the storage lacks a member that the option needs; names both */
export function requireMembersFor(option: keyof typeof FEATURES, storage: Partial<Storage>): void {
  const lacking = lackingMembers(storage, FEATURES[option]);
  if (lacking !== '') throw new ConfigError(option, `this needs a storage with ${lacking}`);
}

/** @throws ConfigError when the storage lacks a member that every server needs; names it */
export function requireMembers(place: string, storage: Partial<Storage>): void {
  const lacking = lackingMembers(storage, EVERY_SERVER);
  if (lacking !== '') throw new ConfigError(place, `add ${lacking}`);
}

/** The members that a storage lacks, in words; the name of a store alone when it lacks the store. */
function lackingMembers(storage: Partial<Storage>, members: readonly StorageMember[]): string {
  const stores = storage as Readonly<Record<string, unknown>>;
  const lacking = members.flatMap((member) => {
    const [name, method] = member.split('.') as [string, string | undefined];
    const found = stores[name];
    if (method === undefined) return typeof found === 'function' ? [] : [member];
    if (typeof found !== 'object' || found === null) return [name];
    return typeof (found as Readonly<Record<string, unknown>>)[method] === 'function' ? [] : [member];
  });
  const names = [...new Set(lacking)];
  if (names.length === 0) return '';
  return `the ${names.length > 1 ? 'members' : 'member'} ${names.join(', ')}`;
}

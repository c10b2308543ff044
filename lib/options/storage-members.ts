/** Checks at start that the storage has what the features that are on call: one of the host may be older than a feature. */
import type { Storage } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';

type Methods<T> = Exclude<
  { [N in keyof T]: T[N] extends (...args: never) => unknown ? N : never }[keyof T],
  symbol | number | undefined
>;

type StoreName = Exclude<keyof Storage, Methods<Storage> | 'changes' | 'confirm' | 'durable'>;

/** Methods of the stores of a storage, by store. */
type Members = { readonly [S in StoreName]?: readonly Methods<Storage[S]>[] };

const METHODS: readonly Methods<Storage>[] = [
  'transaction',
  'migrate',
  'pendingMigrations',
  'prune',
  'state',
  'diagnose',
  'access',
  'close',
  'store',
];

const SECRETS = ['addSecret', 'deleteSecret', 'expireSecret', 'touchSecret', 'rehashSecret'] as const;

const EVERY_SERVER: Members = {
  clients: ['find', 'insert', 'update', 'delete', 'list', 'updateLogo', 'findLogo', ...SECRETS],
  consents: ['find', 'add', 'touch', 'delete', 'deleteAll', 'list'],
  grants: ['insert', 'find', 'findCredential', 'redeem', 'list', 'touch', 'revoke', 'endUnused'],
  revocations: ['revokeToken', 'revokeAllOf', 'latestSequence', 'isValid'],
  sessions: ['insert', 'find', 'update', 'delete', 'deleteOfUser'],
  keys: ['list', 'insert', 'retire', 'replaceMaterial'],
  attempts: ['count', 'release'],
  registrations: ['addConsent', 'deleteUnused'],
};

const IDEMPOTENCY: Members = { idempotency: ['begin', 'extend', 'finish', 'abandon'] };

const FEATURES = {
  // Assignments are of the storage when the user store has no permissions and no roles.
  users: { assignments: ['find', 'save', 'delete'] },
  'retention.audit': { audit: ['append', 'list', 'countByDay'] },
  'clients.registration': { registrations: ['insert', 'find', 'removeToken'] },
  'clients.keys': { clients: ['redeemAssertion'] },
  passport: { passportUses: ['record'] },
  userData: { userData: ['sessions', 'read', 'erase'] },
  actions: IDEMPOTENCY,
  openid: { logouts: ['listDue', 'take', 'finish', 'findLatest', 'listLatest'] },
  'paths.developer': IDEMPOTENCY,
  limits: { attempts: ['reserve'] },
} as const satisfies Readonly<Record<string, Members>>;

/** @throws ConfigError when the storage lacks a member that the option needs; names both */
export function requireMembersFor(option: keyof typeof FEATURES, storage: Partial<Storage>): void {
  const lacking = inWords(lackingMembers(storage, FEATURES[option]));
  if (lacking !== '') throw new ConfigError(option, `this needs a storage with ${lacking}`);
}

/** @throws ConfigError when the storage lacks a member that every server needs; names it */
export function requireMembers(place: string, storage: Partial<Storage>): void {
  const methods = METHODS.filter((method) => typeof storage[method] !== 'function');
  const lacking = inWords([...methods, ...lackingMembers(storage, EVERY_SERVER)]);
  if (lacking !== '') throw new ConfigError(place, `add ${lacking}`);
}

/** The members that a storage lacks; the name of a store alone when it lacks the store. */
function lackingMembers(storage: Partial<Storage>, members: Members): readonly string[] {
  const stores = storage as Readonly<Record<string, unknown>>;
  return Object.entries(members).flatMap(([name, methods]) => {
    const store = stores[name];
    if (typeof store !== 'object' || store === null) return [name];
    const found = store as Readonly<Record<string, unknown>>;
    return methods
      .filter((method) => typeof found[method] !== 'function')
      .map((method) => `${name}.${method}`);
  });
}

function inWords(names: readonly string[]): string {
  return names.length === 0 ? '' : `the ${names.length > 1 ? 'members' : 'member'} ${names.join(', ')}`;
}

import { now } from '../../contracts/clock.ts';
import { DAY } from '../../contracts/duration.ts';
import type {
  AuditEventType,
  AuditLog,
  AuditRecord,
  Client,
  Seconds,
  User,
  UserStore,
} from '../../contracts/index.ts';
import type { EventRule, EventRules } from '../../record/event-rules.ts';
import type { ActivityQuery, ActivityRecord, AppUsage } from './types.ts';

/** The audit events of an app, newest first. Its owner does not see the IP addresses of its users. */
export async function listActivity(
  {
    audit,
    rules,
    users,
  }: {
    readonly audit: Pick<AuditLog, 'list'>;
    readonly rules: EventRules;
    readonly users: Pick<UserStore, 'find'>;
  },
  client: Client,
  { administrator, kind, ...query }: ActivityQuery & { readonly administrator: boolean },
): Promise<readonly ActivityRecord[]> {
  const ofKind = (Object.keys(rules) as AuditEventType[]).filter((type) => {
    const { activity } = rules[type]!;
    return activity !== 'hidden' && (kind ?? activity) === activity;
  });
  // Of users who may not have given the app access: only administrators see who they are.
  const isWithoutAccess = (type: AuditEventType): boolean => rules[type]?.hasNoAccess === true;
  const types =
    administrator || query.userId === undefined ? ofKind : ofKind.filter((type) => !isWithoutAccess(type));
  const found = await audit.list({ ...query, clientId: client.id, types });
  const records = administrator
    ? found
    : found.map((record) => forOwner(record, client, rules[record.type], isWithoutAccess(record.type)));
  const ids = new Set(records.flatMap((record) => [userOf(record), record.actorId]));
  // Each person is read once, however many of their events are on the page.
  const people = new Map<string | undefined, User>();
  await Promise.all(
    [...ids].map(async (id) => {
      const user = id === undefined ? undefined : await users.find(id);
      if (user) people.set(id, user);
    }),
  );
  return records.map((record) =>
    Object.assign({}, record, { user: people.get(userOf(record)), actor: people.get(record.actorId) }),
  );
}

function userOf(record: AuditRecord): string | undefined {
  return 'userId' in record ? record.userId : undefined;
}

function forOwner(
  record: AuditRecord,
  { grantType }: Client,
  rule: EventRule | undefined,
  isWithoutAccess: boolean,
): AuditRecord {
  // A client-credentials app runs at the developer's address; in any other event the address is that of a user's browser.
  const isOfApp = grantType === 'client_credentials' && record.actorId === undefined;
  const hidden = new Set([
    ...(isOfApp ? [] : ['address', ...(rule?.addresses ?? [])]),
    ...(isWithoutAccess ? ['userId'] : []),
  ]);
  const shown = Object.entries(record).filter(([name]) => !hidden.has(name));
  return Object.fromEntries(shown) as unknown as AuditRecord;
}

const MOST_DAYS = 30;

// The limit for each type. A database reads this many entries of an index in some milliseconds.
const MOST_COUNTED = 20_000;

/** The tokens issued and the requests refused on each of the last days. */
export async function countUsage(
  { audit, retention }: { readonly audit: Pick<AuditLog, 'countByDay'>; readonly retention: Seconds },
  { id: clientId }: Client,
): Promise<AppUsage | undefined> {
  if (retention === 0) return undefined;
  const at = now();
  const today = at - (at % DAY);
  const length = Math.min(MOST_DAYS, Math.max(1, Math.floor(retention / DAY)));
  const first = today - (length - 1) * DAY;
  const [issued, ...refused] = await Promise.all(
    (['token_issued', 'token_refused', 'authorization_refused'] as const).map(async (type) => {
      const days = await audit.countByDay({ clientId, type, since: first, most: MOST_COUNTED });
      const total = days.reduce((sum, { count }) => sum + count, 0);
      const isComplete = total < MOST_COUNTED;
      // The counted events of the oldest day need not be all events of that day.
      const since = isComplete ? first : Math.min(today, days.at(-1)!.day + DAY);
      return { isComplete, since, counts: new Map(days.map(({ count, day }) => [day, count])) };
    }),
  );
  const since = Math.max(...[issued!, ...refused].map((counted) => counted.since));
  const days = Array.from({ length: (today - since) / DAY + 1 }, (_, index) => {
    const day = since + index * DAY;
    const sum = (all: readonly (typeof issued)[]): number =>
      all.reduce((total, counted) => total + (counted!.counts.get(day) ?? 0), 0);
    return { at: day, issued: sum([issued]), refused: sum(refused) };
  });
  return { days, truncated: [issued!, ...refused].some(({ isComplete }) => !isComplete) };
}

import type { ActivityKind, AuditRecord } from '../contracts/audit.ts';
import type { Milliseconds } from '../contracts/duration.ts';

/** The events of a share that are stored: a burst, and after that one in each interval. */
export interface Rate {
  readonly burst: number;
  readonly interval: Milliseconds;
}

/**
 * A share of the stored events, limited on its own: at a rate, for each value of these members. A share by `actorId` is for what users do
 * on pages, not for what a program of the platform does.
 */
export type Share = readonly [rate: Rate, ...of: Member[]];

/** `network` is the address or, for IPv6, its /64, which one subscriber has. */
export type Member = 'actorId' | 'clientId' | 'network' | 'tokenId' | 'userId';

/** At least one share; or `all` when each event is stored, because no stranger, user or app can repeat it as often as they like. */
export type Shares = readonly [Share, ...Share[]] | 'all';

// For events that anybody can cause, by type, and for what agents read.
export const FLOOD: Rate = { burst: 1000, interval: 100 };

// For the part of these events that one network causes, so that nobody suppresses the events of all others by a flood of their own.
const OF_NETWORK: Rate = { burst: 200, interval: 2000 };

// For what a user does with an account or an app again and again.
export const REPEATED: Rate = { burst: 100, interval: 60_000 };

// For what a person does with many apps, such as an administrator after an incident.
const MANY: Rate = { burst: 1000, interval: 60_000 };

// For events that change nothing.
export const DENIED: Rate = { burst: 10, interval: 900_000 };

// For a state that lasts, with the default window in which attempts are counted.
export const STATE: Rate = { burst: 1, interval: 900_000 };

export const BY_STRANGERS: Shares = [[OF_NETWORK, 'network'], [FLOOD]];
export const OF_USER_AND_APP: Shares = [[REPEATED, 'userId', 'clientId']];
export const BY_ACTOR: Shares = [[MANY, 'actorId']];
export const BY_ACTOR_OF_APP: Shares = [[REPEATED, 'actorId', 'clientId']];

/** How events of a type are recorded, and who sees them. */
export interface EventRule {
  /** The shares of the event, which limit what strangers, or users with an account, can repeat as often as they like. */
  readonly shares: Shares;
  /** Where the owner of the app sees the event in the activity of the app: see {@link ActivityTexts}. */
  readonly activity: ActivityKind | 'hidden';
  /** The metric that counts them. */
  readonly counter?: {
    readonly name: string;
    readonly help: string;
    readonly label?: {
      readonly name: string;
      readonly values: readonly string[];
      of(record: AuditRecord): string;
    };
  };
  /** The members of the event that are addresses of a user: the owner of an app does not see them, and an erasure removes them. */
  readonly addresses?: readonly string[];
  /** The members of the event that a user has written; the erasure of the user empties them. */
  readonly ofUser?: readonly string[];
  /** Whether the event is for listeners and metrics only. */
  readonly isNotStored?: boolean;
  /** Whether the event may be of a user who has not given the app access, so that only administrators see who it is. */
  readonly hasNoAccess?: boolean;
}

/** The rules of the events of features, by type. */
export type EventRules = Readonly<Record<string, EventRule>>;

/** The texts of the pages for developers that these events need, beside others: one for each event that owners of apps see. */
export type ActivityTexts<Rules extends EventRules> = Readonly<Record<string, string>> & {
  readonly [
    T in keyof Rules & string as Rules[T]['activity'] extends 'hidden' ? never : `activity.${T}`
  ]: string;
};

import type { ActivityKind, AuditRecord } from '../contracts/audit.ts';
import type { Milliseconds } from '../contracts/duration.ts';

/** The events of a share that are stored: a burst, and after that one in each interval. */
export interface Rate {
  readonly burst: number;
  readonly interval: Milliseconds;
}

/**
 * A share of the stored events, which is limited by itself: at a rate, for each value of these members. One `of` an actor is for what
 * users do at pages: what a program of the platform does is none of it.
 */
export type Share = readonly [rate: Rate, ...of: Member[]];

/** `network`: the address, of IPv6 its /64, which one subscriber has. */
export type Member = 'actorId' | 'clientId' | 'network' | 'tokenId' | 'userId';

/** At least one; or `all`: each event is stored, because no stranger, user or app can repeat it as often as they like. */
export type Shares = readonly [Share, ...Share[]] | 'all';

// What anybody can cause, by type, and what agents read.
export const FLOOD: Rate = { burst: 1000, interval: 100 };

// Of these, what one network causes: nobody suppresses the events of all others by a flood of their own.
const OF_NETWORK: Rate = { burst: 200, interval: 2000 };

// What a user does with an account or an app, again and again.
export const REPEATED: Rate = { burst: 100, interval: 60_000 };

// What a person does with many apps, such as an administrator after an incident.
const MANY: Rate = { burst: 1000, interval: 60_000 };

// What changes nothing.
export const DENIED: Rate = { burst: 10, interval: 900_000 };

// A state, by the window in which attempts are counted by default.
export const STATE: Rate = { burst: 1, interval: 900_000 };

export const BY_STRANGERS: Shares = [[OF_NETWORK, 'network'], [FLOOD]];
export const OF_USER_AND_APP: Shares = [[REPEATED, 'userId', 'clientId']];
export const BY_ACTOR: Shares = [[MANY, 'actorId']];
export const BY_ACTOR_OF_APP: Shares = [[REPEATED, 'actorId', 'clientId']];

/** How events of a type are recorded, and who sees them. */
export interface EventRule {
  /** The shares of what strangers, or users with an account, can repeat as often as they like. */
  readonly shares: Shares;
  /** Where the owner of the app sees it in the activity of the app. @default nowhere */
  readonly activity?: ActivityKind;
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
  /** Its members that are addresses of a user: the owner of an app does not see them, and an erasure removes them. */
  readonly addresses?: readonly string[];
  /** Its members that a user has written, which the erasure of the user empties. */
  readonly ofUser?: readonly string[];
  /** Whether it is for listeners and metrics only. */
  readonly isNotStored?: boolean;
  /** Whether it is of a user who may not have given the app access, so that only administrators see who it is. */
  readonly hasNoAccess?: boolean;
}

/** The rules of the events of features, by type. */
export type EventRules = Readonly<Record<string, EventRule>>;

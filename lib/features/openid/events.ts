import { OF_USER_AND_APP } from '../../record/event-rules.ts';
import type { EventRule } from '../../record/event-rules.ts';
import type { LogoutOutcome } from './types.ts';

/** The events of OpenID Connect. */
export type OpenIdEvent =
  /** An app was not told of a logout within a day (OpenID Connect Back-Channel Logout 1.0). */
  | {
      readonly type: 'logout_undelivered';
      readonly userId: string;
      readonly clientId: string;
      /** Why the last attempt failed, such as `timeout` or `status 500`. */
      readonly error: string;
    }
  /** This node has told an app of a logout, or has tried to. Not stored. */
  | ({ readonly type: 'logout_told'; readonly clientId: string } & Omit<LogoutOutcome, 'clientId'>);

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    openid: OpenIdEvent;
  }
}

export const OPENID_EVENTS = {
  logout_undelivered: { shares: OF_USER_AND_APP, activity: 'people' },
  logout_told: {
    shares: 'all',
    activity: 'hidden',
    isNotStored: true,
    counter: {
      name: 'gatehouse_logouts_told_total',
      help: 'Attempts to tell an app that a user was signed out.',
      label: {
        name: 'outcome',
        values: ['delivered', 'failed', 'given_up'],
        of(record) {
          const { error, isLast } = record as unknown as LogoutOutcome;
          return error === undefined ? 'delivered' : isLast ? 'given_up' : 'failed';
        },
      },
    },
  },
} as const satisfies Readonly<Record<OpenIdEvent['type'], EventRule>>;

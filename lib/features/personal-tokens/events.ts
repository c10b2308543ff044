import type { Seconds } from '../../contracts/index.ts';
import { REPEATED } from '../../record/event-rules.ts';
import type { EventRule } from '../../record/event-rules.ts';

/** The audit events of personal access tokens. */
export type PersonalTokenEvent =
  | {
      readonly type: 'personal_token_created';
      readonly userId: string;
      readonly tokenId: string;
      readonly name: string;
      /** The API that the token is for; absent for the default. */
      readonly resource?: string | undefined;
      readonly scopes?: readonly string[] | undefined;
      /** The permissions that limit the token where its API has no scopes. */
      readonly permissions?: readonly string[] | undefined;
      readonly expiresAt: Seconds;
    }
  /** `personal_token_used` is recorded when the token is first used from the network (IPv4 /24, IPv6 /48) of the record's `address`. */
  | {
      readonly type: 'personal_token_used' | 'personal_token_revoked';
      readonly userId: string;
      readonly tokenId: string;
      readonly name: string;
    };

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    personalTokens: PersonalTokenEvent;
  }
}

export const PERSONAL_TOKEN_EVENTS = {
  personal_token_created: {
    shares: [[REPEATED, 'userId']],
    activity: 'hidden',
    ofUser: ['name'],
    counter: {
      name: 'gatehouse_personal_tokens_created_total',
      help: 'Personal access tokens that were created.',
    },
  },
  personal_token_used: { shares: [[REPEATED, 'tokenId']], activity: 'hidden', ofUser: ['name'] },
  personal_token_revoked: {
    shares: [[REPEATED, 'userId']],
    activity: 'hidden',
    ofUser: ['name'],
    counter: {
      name: 'gatehouse_personal_tokens_revoked_total',
      help: 'Personal access tokens that were revoked.',
      // Events of requests have a request id; events of a user's pages have the user as the actor.
      label: {
        name: 'actor',
        values: ['user', 'holder', 'host'],
        of: ({ actorId, requestId }) =>
          actorId === undefined ? (requestId === undefined ? 'host' : 'holder') : 'user',
      },
    },
  },
} as const satisfies Readonly<Record<PersonalTokenEvent['type'], EventRule>>;

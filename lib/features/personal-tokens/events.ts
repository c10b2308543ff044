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
      /** What limits it where its API has no scopes. */
      readonly permissions?: readonly string[] | undefined;
      readonly expiresAt: Seconds;
    }
  /** `personal_token_used`: for the first time from the network (IPv4 /24, IPv6 /48) of the record's `address`. */
  | {
      readonly type: 'personal_token_used' | 'personal_token_ended';
      readonly userId: string;
      readonly tokenId: string;
      readonly name: string;
    };

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    personalTokens: PersonalTokenEvent;
  }
}

export const PERSONAL_TOKEN_EVENTS: Readonly<Record<PersonalTokenEvent['type'], EventRule>> = {
  personal_token_created: {
    shares: [[REPEATED, 'userId']],
    ofUser: ['name'],
    counter: {
      name: 'gatehouse_personal_tokens_created_total',
      help: 'Personal access tokens that were created.',
    },
  },
  personal_token_used: { shares: [[REPEATED, 'tokenId']], ofUser: ['name'] },
  personal_token_ended: {
    shares: [[REPEATED, 'userId']],
    ofUser: ['name'],
    counter: {
      name: 'gatehouse_personal_tokens_ended_total',
      help: 'Personal access tokens that were ended.',
      // The events of requests have an id of the request, and those of a user's pages the user.
      label: {
        name: 'actor',
        values: ['user', 'holder', 'host'],
        of: ({ actorId, requestId }) =>
          actorId === undefined ? (requestId === undefined ? 'host' : 'holder') : 'user',
      },
    },
  },
};

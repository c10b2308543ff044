import type { EventRule } from '../../record/event-rules.ts';
import type { PassportUse } from './types.ts';

/** The events of the tokens of Passport. */
export type PassportEvent =
  /** A token of Passport was used at this node. Recorded once an hour for each token, and not stored. */
  { readonly type: 'passport_token_used'; readonly clientId: string; readonly kind: PassportUse['kind'] };

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    passport: PassportEvent;
  }
}

export const PASSPORT_EVENTS = {
  passport_token_used: {
    shares: 'all',
    activity: 'hidden',
    isNotStored: true,
    counter: {
      name: 'gatehouse_passport_tokens_used_total',
      help: 'Tokens of Passport that were used, each once an hour.',
      label: {
        name: 'kind',
        values: ['user', 'personal', 'client', 'refresh'],
        of: (record) => (record as unknown as PassportEvent).kind,
      },
    },
  },
} as const satisfies Readonly<Record<PassportEvent['type'], EventRule>>;

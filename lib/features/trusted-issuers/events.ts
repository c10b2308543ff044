import { OF_USER_AND_APP } from '../../record/event-rules.ts';
import type { EventRule } from '../../record/event-rules.ts';

/** The audit events of trusted issuers. A refused assertion is `token_refused`. */
export type TrustedIssuerEvent =
  | {
      /** Recorded beside `token_issued`. */
      readonly type: 'assertion_accepted';
      readonly clientId: string;
      readonly userId?: string | undefined;
      readonly issuer: string;
      /** What the issuer calls the user or the workload: its `sub`. */
      readonly subject: string;
      /** Who acts for it, as the issuer says (RFC 8693 section 4.1). */
      readonly actor?: string | undefined;
      /** The same assertion was presented a moment ago. */
      readonly isRepeated?: true | undefined;
    }
  /** The host lets an app act for a user again by the word of an issuer, after this was ended. */
  | { readonly type: 'app_allowed_again'; readonly userId: string; readonly clientId: string };

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    trustedIssuers: TrustedIssuerEvent;
  }
}

export const TRUSTED_ISSUER_EVENTS = {
  assertion_accepted: { shares: OF_USER_AND_APP, activity: 'hidden', ofUser: ['subject', 'actor'] },
  app_allowed_again: { shares: 'all', activity: 'hidden' },
} as const satisfies Readonly<Record<TrustedIssuerEvent['type'], EventRule>>;

import { FLOOD } from '../../record/event-rules.ts';
import type { EventRule } from '../../record/event-rules.ts';

/** The audit event of pushed authorization requests. One that is refused is `authorization_refused`. */
export interface PushedRequestEvent {
  readonly type: 'authorization_pushed';
  readonly clientId: string;
}

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    pushedRequests: PushedRequestEvent;
  }
}

export const PUSHED_REQUEST_EVENTS = {
  authorization_pushed: { shares: [[FLOOD]], activity: 'hidden' },
} as const satisfies Readonly<Record<PushedRequestEvent['type'], EventRule>>;

import type { CoreEvent } from '../contracts/audit.ts';
import {
  BY_ACTOR,
  BY_ACTOR_OF_APP,
  BY_STRANGERS,
  DENIED,
  FLOOD,
  OF_USER_AND_APP,
  REPEATED,
  STATE,
} from './event-rules.ts';
import type { EventRule } from './event-rules.ts';

/**
 * The rules of every type of event of the core. Logins are hidden from the owners of apps, because they belong to the users.
 */
export const CORE_EVENTS = {
  token_issued: { shares: OF_USER_AND_APP, activity: 'tokens' },
  token_refused: { shares: BY_STRANGERS, activity: 'refused' },
  refresh_token_reused: { shares: OF_USER_AND_APP, activity: 'tokens' },
  authorization_refused: { shares: BY_STRANGERS, activity: 'refused', hasNoAccess: true },
  login: { shares: OF_USER_AND_APP, activity: 'hidden' },
  login_failed: { shares: BY_STRANGERS, activity: 'hidden' },
  login_throttled: { shares: [[STATE, 'network'], [FLOOD]], activity: 'hidden' },
  logout: { shares: OF_USER_AND_APP, activity: 'hidden' },
  consent_given: { shares: OF_USER_AND_APP, activity: 'people' },
  consent_denied: { shares: [[DENIED, 'userId', 'clientId']], activity: 'people', hasNoAccess: true },
  consent_withdrawn: { shares: OF_USER_AND_APP, activity: 'people' },
  user_erased: { shares: 'all', activity: 'hidden' },
  // What apps do to their own registrations is limited elsewhere: see `registrationLimit()` and `changeLimit()`.
  client_created: { shares: BY_ACTOR, activity: 'changes' },
  client_updated: { shares: BY_ACTOR_OF_APP, activity: 'changes' },
  client_disabled: { shares: BY_ACTOR_OF_APP, activity: 'changes' },
  client_enabled: { shares: BY_ACTOR_OF_APP, activity: 'changes' },
  client_withdrawn: { shares: [[REPEATED, 'clientId']], activity: 'changes' },
  client_deleted: { shares: BY_ACTOR, activity: 'hidden' },
  secret_added: { shares: BY_ACTOR_OF_APP, activity: 'changes' },
  secret_deleted: { shares: BY_ACTOR_OF_APP, activity: 'changes' },
  tokens_revoked: { shares: OF_USER_AND_APP, activity: 'tokens' },
  assignment_changed: { shares: 'all', activity: 'hidden' },
  // Every change by an agent is stored, because nothing else shows what the agent did.
  tool_called: { shares: 'all', activity: 'hidden' },
  tool_read: { shares: [[FLOOD, 'clientId', 'tokenId', 'userId']], activity: 'hidden' },
  key_rotated: { shares: 'all', activity: 'hidden' },
  key_revoked: { shares: 'all', activity: 'hidden' },
} as const satisfies Readonly<Record<CoreEvent['type'], EventRule>>;

import type { Seconds } from '../../contracts/index.ts';
import { optional, readOptions } from '../../options/declare.ts';
import type { Given } from '../../options/declare.ts';
import { pagePath } from '../../options/paths.ts';
import { duration, integer } from '../../options/values.ts';
import type { Feature } from '../feature.ts';
import { PERSONAL_TOKEN_EVENTS } from './events.ts';
import type { PersonalTokenFields } from './manage.ts';
import { PERSONAL_TOKENS_OFF } from './refusals.ts';
import type { PersonalTokens } from './types.ts';

// A year. A token that nobody remembers ends by itself.
const LONGEST_PERSONAL_TOKEN: Seconds = 31_536_000;

// The limit for one user.
export const MOST_PERSONAL_TOKENS = 200;

export const PERSONAL_TOKENS = {
  /** The longest lifetime that a user can choose, between 1 day and 1 year. @default '1 year' */
  maxLifetime: optional(duration(86_400, LONGEST_PERSONAL_TOKEN), '1 year'),
  /** How many tokens a user can have at a time, 1 to 200. @default 20 */
  perUser: optional(integer(1, { most: MOST_PERSONAL_TOKENS }), 20),
  /** How long ago a user may have given the password when creating a token; at least a minute. @default '10 minutes' */
  loginAge: optional(duration(60), '10 minutes'),
  /** The path of the page on which users create and end tokens; `false` for no page. @default '/account/tokens' */
  path: optional(pagePath, '/account/tokens'),
};

/** The options of {@link personalTokens}. */
export interface PersonalTokenOptions extends Given<typeof PERSONAL_TOKENS> {}

/** The options, complete. Durations are in seconds. */
export type PersonalTokenSettings = ReturnType<typeof readOptions<typeof PERSONAL_TOKENS>>;

/** What {@link personalTokens} adds to a server, and to an administration. */
export interface WithPersonalTokens {
  /** The personal access tokens of users, for a settings page of your own. */
  readonly personalTokens: PersonalTokens<PersonalTokenFields>;
}

/**
 * Personal access tokens, for the scripts of your users. A user creates a token at `/account/tokens`, after a fresh login: it is for one
 * API, and has a name, an expiry and scopes, or permissions where the API has no scopes. A request never has more permissions than its
 * user has at that moment. Where the gate defines the permission `use_personal_tokens`, users need it. Without the feature, existing
 * tokens are refused.
 *
 *     createAuthServer({ …, features: [personalTokens({ maxLifetime: '90 days' })] })
 *
 * @throws ConfigError for a wrong option
 */
export function personalTokens(options: PersonalTokenOptions = {}): Feature<WithPersonalTokens> {
  const settings = readOptions(PERSONAL_TOKENS, options, 'personalTokens()');
  return {
    name: 'personalTokens',
    events: PERSONAL_TOKEN_EVENTS,
    tokensOff: PERSONAL_TOKENS_OFF,
    install: async (core) => (await import('./install.ts')).installPersonalTokens(core, settings),
    exportUser: async (...of) => (await import('./administer.ts')).exportPersonalTokens(...of),
    administer: async (core) => (await import('./administer.ts')).administerPersonalTokens(core, settings),
  };
}

// So that the compiler finds what it adds to the events wherever a program imports the feature.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './events.ts';

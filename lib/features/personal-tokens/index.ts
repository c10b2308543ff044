import type { Seconds } from '../../contracts/index.ts';
import { optional, readOptions } from '../../options/declare.ts';
import type { Given } from '../../options/declare.ts';
import { pagePath } from '../../options/paths.ts';
import { duration, integer } from '../../options/values.ts';
import type { Feature } from '../feature.ts';
import { PERSONAL_TOKEN_EVENTS } from './events.ts';
import type { PersonalTokenOptions } from './manage.ts';
import { PERSONAL_TOKENS_OFF } from './refusals.ts';
import type { PersonalTokens } from './types.ts';

export type { PersonalTokenEvent } from './events.ts';

// A year. A token that nobody remembers ends by itself.
const LONGEST_PERSONAL_TOKEN: Seconds = 31_536_000;

// Of a user.
export const MOST_PERSONAL_TOKENS = 200;

export const PERSONAL_TOKENS = {
  /** The longest lifetime that a user can choose: 1 day to 1 year. @default '1 year' */
  maxLifetime: optional(duration(86_400, LONGEST_PERSONAL_TOKEN), '1 year'),
  /** How many a user can have at a time, 1 to 200. @default 20 */
  perUser: optional(integer(1, { most: MOST_PERSONAL_TOKENS }), 20),
  /** How long ago a user may have given the password, to create one. At least a minute. @default '10 minutes' */
  loginAge: optional(duration(60), '10 minutes'),
  /** The path of the page on which users create and end them. `false`: no page. @default '/account/tokens' */
  path: optional(pagePath, '/account/tokens'),
};

/** The options of {@link personalTokens}. */
export interface PersonalTokenSettings extends Given<typeof PERSONAL_TOKENS> {}

/** The options, complete. Durations are in seconds. */
export type CompletePersonalTokenSettings = ReturnType<typeof readOptions<typeof PERSONAL_TOKENS>>;

/** What {@link personalTokens} adds to a server, and to an administration. */
export interface WithPersonalTokens {
  /** The personal access tokens of users, for a settings page of your own. */
  readonly personalTokens: PersonalTokens<PersonalTokenOptions>;
}

/**
 * Personal access tokens, for the scripts of your users: each creates them at `/account/tokens`, after a fresh login, for an API, with
 * a name, an end, and scopes; or permissions, where the API has no scopes. The permissions are at most those that the user has when a
 * request is made. Where the gate has the permission `use_personal_tokens`, users need it. Without the feature, those of before are
 * refused.
 *
 *     createAuthServer({ …, features: [personalTokens({ maxLifetime: '90 days' })] })
 *
 * @throws ConfigError for a wrong option
 */
export function personalTokens(options: PersonalTokenSettings = {}): Feature<WithPersonalTokens> {
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

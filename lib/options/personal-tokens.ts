import type { Seconds } from '../contracts/duration.ts';
import { objectOrBoolean, optional } from './declare.ts';
import type { Given } from './declare.ts';
import { duration, integer } from './values.ts';

// A year. A token that nobody remembers ends by itself.
export const LONGEST_PERSONAL_TOKEN: Seconds = 31_536_000;

// Of a user.
export const MOST_PERSONAL_TOKENS = 200;

const PERSONAL_TOKENS = {
  /** The longest lifetime that a user can choose: 1 day to 1 year. @default '1 year' */
  maxLifetime: optional(duration(86_400, LONGEST_PERSONAL_TOKEN), '1 year'),
  /** How many a user can have at a time, 1 to 200. @default 20 */
  perUser: optional(integer(1, { most: MOST_PERSONAL_TOKENS }), 20),
  /** How long ago a user may have given the password, to create one. At least a minute. @default '10 minutes' */
  loginAge: optional(duration(60), '10 minutes'),
};

/** Limits of personal access tokens. */
export interface PersonalTokenSettings extends Given<typeof PERSONAL_TOKENS> {}

/** Durations are in seconds. `undefined`: there are no personal access tokens. */
export const personalTokens = objectOrBoolean<PersonalTokenSettings, typeof PERSONAL_TOKENS>(
  PERSONAL_TOKENS,
  "{ maxLifetime: '90 days' }",
);

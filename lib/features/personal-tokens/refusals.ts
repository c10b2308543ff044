import type { GuardedForm } from '../../access/authenticator.ts';
import type { AuthFailure } from '../../access/challenge.ts';
import { isPersonalToken } from './value.ts';

/** Why a guard refuses a personal access token. The holder of the token is told the reason. */
export const REFUSALS = {
  unknown: {
    code: 'token_invalid',
    error: 'invalid_token',
    detail: 'The personal access token was ended, or was not issued by this server.',
  },
  expired: {
    code: 'token_invalid',
    error: 'invalid_token',
    detail: 'The personal access token has expired. Create another one.',
  },
  off: {
    code: 'token_malformed',
    error: 'invalid_token',
    detail: 'This server accepts no personal access tokens: its feature personalTokens() is off.',
  },
  notAllowed: {
    code: 'token_not_allowed',
    error: 'invalid_token',
    detail: 'The user of the personal access token may not use such tokens any more.',
  },
} satisfies Record<string, AuthFailure>;

/** How the guards of a server without the feature refuse personal access tokens. */
export const PERSONAL_TOKENS_OFF: GuardedForm = {
  isWellFormed: isPersonalToken,
  load: async () => REFUSALS.off,
};

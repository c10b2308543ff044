import type { Context } from 'koa';
import type { User } from '../lib/contracts/index.ts';
import { TooManyAttemptsError } from '../lib/errors.ts';
import { readForm } from '../lib/http/body.ts';
import type { Problem } from './page.ts';
import { plain, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Site } from './site.ts';

/** The login form: what was typed, and what is wrong with it. */
export interface LoginForm {
  readonly login: string;
  readonly problems: readonly Problem[];
  /** Nothing is missing, but it does not fit. */
  readonly refused?: boolean;
  /** In seconds: when it may be sent again, after too many that did not fit. */
  readonly retryAfter?: number;
}

/** Checks what was typed. Resolves to the user, or to the form to show again. */
export async function checkLogin(ctx: Context, site: Site): Promise<{ user: User } | LoginForm> {
  const { flow, text } = site;
  const { login: typed = '', password = '' } = await readForm(ctx);
  // Pasted addresses bring blanks along; in a password they may be meant.
  const login = typed.trim();

  const problems: Problem[] = [];
  if (login === '') problems.push({ field: 'login', message: text['login.loginMissing'] });
  if (password === '') problems.push({ field: 'password', message: text['login.passwordMissing'] });
  if (problems.length > 0) return { login, problems };

  try {
    const user = await flow.authenticate(ctx, login, password);
    if (user) return { user };
  } catch (error) {
    if (!(error instanceof TooManyAttemptsError)) throw error;
    const { retryAfter } = error;
    return { login, problems: [{ message: plain(whenToTryAgain(site, retryAfter)) }], retryAfter };
  }
  return { login, problems: [{ field: 'login', message: text['login.refused'] }], refused: true };
}

// A count of seconds above this is nothing that people wait by.
const LONGEST_IN_SECONDS = 90;

function whenToTryAgain({ count }: Site, seconds: number): Sentence {
  return seconds > LONGEST_IN_SECONDS
    ? count('login.throttledMinutes', Math.ceil(seconds / 60))
    : count('login.throttledSeconds', seconds);
}

/** Shows the login page; with 422 when there is something to mend, and with 429 after too much of it. */
export function showLogin(
  ctx: Context,
  { show, text }: Site,
  { retryAfter, ...page }: LoginForm & { readonly action: string; readonly lead: Sentence },
): void {
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  const wrong = page.problems.length > 0 ? 422 : 200;
  show(ctx, {
    view: 'login',
    status: retryAfter === undefined ? wrong : 429,
    heading: sentence(text['login.heading']),
    // Where people go on from here may lead to another site.
    formsStayHere: false,
    refused: false,
    ...page,
  });
}

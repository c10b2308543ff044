import type { Context } from 'koa';
import type { User } from '../lib/contracts.ts';
import { readForm } from '../lib/http/body.ts';
import type { Problem } from './page.ts';
import { sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Site } from './site.ts';

/** The login form: what was typed, and what is wrong with it. */
export interface LoginForm {
  readonly login: string;
  readonly problems: readonly Problem[];
  /** Nothing is missing, but it does not fit. */
  readonly refused?: boolean;
}

/** Checks what was typed. Resolves to the user, or to the form to show again. */
export async function checkLogin(ctx: Context, { flow, text }: Site): Promise<{ user: User } | LoginForm> {
  const { login: typed = '', password = '' } = await readForm(ctx);
  // Pasted addresses bring blanks along; in a password they may be meant.
  const login = typed.trim();

  const problems: Problem[] = [];
  if (login === '') problems.push({ field: 'login', message: text['login.loginMissing'] });
  if (password === '') problems.push({ field: 'password', message: text['login.passwordMissing'] });
  if (problems.length > 0) return { login, problems };

  const user = await flow.authenticate(ctx, login, password);
  if (user) return { user };
  return { login, problems: [{ field: 'login', message: text['login.refused'] }], refused: true };
}

/** Shows the login page; with 422 when there is something to mend. */
export function showLogin(
  ctx: Context,
  { show, text }: Site,
  page: LoginForm & { readonly action: string; readonly lead: Sentence },
): void {
  show(ctx, {
    view: 'login',
    status: page.problems.length > 0 ? 422 : 200,
    heading: sentence(text['login.heading']),
    // Where people go on from here may lead to another site.
    formsStayHere: false,
    refused: false,
    ...page,
  });
}

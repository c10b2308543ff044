import type { Context } from 'koa';
import type { Interaction, User } from '../lib/contracts/index.ts';
import { TooManyAttemptsError } from '../lib/errors.ts';
import { readForm } from '../lib/http/form.ts';
import { seeOther } from './navigation.ts';
import type { Problem } from './page.ts';
import { plain, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { PageContext } from './page-context.ts';
import { nameOfApp } from './unregistered.ts';

/** Skips the login page when the host has a session of the user; else shows it. Resolves to the URL to redirect to, if any. */
export async function askForLogin(
  ctx: Context,
  interaction: Interaction,
  pageContext: PageContext,
): Promise<string | undefined> {
  const next = await pageContext.flow.skipLogin(ctx, interaction);
  if (next === undefined)
    showLoginOf(ctx, interaction, pageContext, { login: interaction.loginHint ?? '', problems: [] });
  return next;
}

/** Checks the login form. Resolves to the URL to redirect to, or shows the page again with 422. */
export async function submitLogin(
  ctx: Context,
  interaction: Interaction,
  pageContext: PageContext,
): Promise<string | undefined> {
  const checked = await checkLogin(ctx, pageContext);
  if ('user' in checked) return pageContext.flow.login(ctx, interaction, checked.user);
  showLoginOf(ctx, interaction, pageContext, checked);
  return undefined;
}

function showLoginOf(
  ctx: Context,
  { action, client }: Interaction,
  pageContext: PageContext,
  form: LoginForm,
): void {
  showLogin(ctx, pageContext, {
    ...form,
    action: `${action}/login`,
    lead: sentence(pageContext.text['login.lead'], {
      client: nameOfApp(client, pageContext.text),
    }),
  });
}

/** The login page outside an authorization request, for the pages of this server. Redirects a user who is signed in already. */
export async function askToSignIn(ctx: Context, pageContext: PageContext): Promise<void> {
  const { flow } = pageContext;
  const target = returnTo(ctx, pageContext);
  const loginUrl = flow.loginUrl(target);
  if (await flow.currentUser(ctx)) seeOther(ctx, target);
  else if (isElsewhere(loginUrl, pageContext)) seeOther(ctx, loginUrl);
  else showSignIn(ctx, pageContext, { login: '', problems: [] });
}

/** Checks the login form and signs the user in, or shows the page again with 422. */
export async function submitSignIn(ctx: Context, pageContext: PageContext): Promise<void> {
  const checked = await checkLogin(ctx, pageContext);
  if ('user' in checked) {
    await pageContext.flow.signIn(ctx, checked.user);
    seeOther(ctx, returnTo(ctx, pageContext));
  } else {
    showSignIn(ctx, pageContext, checked);
  }
}

function showSignIn(ctx: Context, pageContext: PageContext, form: LoginForm): void {
  const { brand, flow, text } = pageContext;
  showLogin(ctx, pageContext, {
    ...form,
    action: flow.basePath + LOGIN + ctx.search,
    lead: sentence(text['login.leadBrand'], { brand }),
  });
}

const LOGIN = '/oauth/login';

/** The path to redirect to after the login: the one in `?return_to=` if it is on this server, else the user's own page. */
function returnTo(ctx: Context, { flow }: PageContext): string {
  const wanted = ctx.query['return_to'];
  const path = typeof wanted === 'string' ? flow.pathHere(wanted) : undefined;
  return path ?? (flow.accountPath === undefined ? '/' : flow.basePath + flow.accountPath);
}

/** Whether the login page is one of the host. */
function isElsewhere(loginUrl: string, { flow }: PageContext): boolean {
  const { origin, pathname } = new URL(loginUrl, flow.origin);
  return origin !== flow.origin || pathname !== flow.basePath + LOGIN;
}

/** The login form as it was posted, and its problems. */
interface LoginForm {
  readonly login: string;
  readonly problems: readonly Problem[];
  /** The form is complete, but the user store does not accept login and password. */
  readonly refused?: boolean;
  /** In seconds: the wait before the next attempt, after too many failed ones. */
  readonly retryAfter?: number;
}

/** Checks the login form. Resolves to the user, or to the form to show again. */
async function checkLogin(ctx: Context, pageContext: PageContext): Promise<{ user: User } | LoginForm> {
  const { flow, text } = pageContext;
  const { login: typed = '', password = '' } = await readForm(ctx);
  // Blanks around a login come from pasting; in a password they may be intended.
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
    return { login, problems: [{ message: plain(retrySentence(pageContext, retryAfter)) }], retryAfter };
  }
  return { login, problems: [{ field: 'login', message: text['login.refused'] }], refused: true };
}

// Longer waits are shown in minutes.
const LONGEST_IN_SECONDS = 90;

function retrySentence({ count }: PageContext, seconds: number): Sentence {
  return seconds > LONGEST_IN_SECONDS
    ? count('login.throttledMinutes', Math.ceil(seconds / 60))
    : count('login.throttledSeconds', seconds);
}

/** Shows the login page, with 422 when there are problems, and with 429 after too many failed attempts. */
function showLogin(
  ctx: Context,
  { show, text }: PageContext,
  { retryAfter, ...page }: LoginForm & { readonly action: string; readonly lead: Sentence },
): void {
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  const wrong = page.problems.length > 0 ? 422 : 200;
  show(ctx, {
    view: 'login',
    status: retryAfter === undefined ? wrong : 429,
    heading: sentence(text['login.heading']),
    // The login may redirect to the client's site, which the CSP directive `form-action 'self'` would block.
    formsStayHere: false,
    refused: false,
    ...page,
  });
}

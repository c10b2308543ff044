import type { Interaction, Seconds, User } from '../lib/contracts/index.ts';
import { TooManyAttemptsError } from '../lib/errors.ts';
import { readForm } from '../lib/http/form.ts';
import { destination, queryText, seeOther } from './navigation.ts';
import type { Link } from './navigation.ts';
import type { FieldProblem } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import { nameOfApp } from './unregistered.ts';

/** Skips the login page when the host has a session of the user; else shows it. Resolves to the URL to redirect to, if any. */
export async function askForLogin(
  request: PageRequest,
  interaction: Interaction,
): Promise<string | undefined> {
  const next = await request.flow.skipLogin(request.ctx, interaction);
  if (next === undefined)
    showLoginOf(interaction, request, { login: interaction.loginHint ?? '', problems: [] });
  return next;
}

/** Checks the login form. Resolves to the URL to redirect to, or shows the page again with 422. */
export async function submitLogin(
  request: PageRequest,
  interaction: Interaction,
): Promise<string | undefined> {
  const checked = await checkLogin(request);
  if ('user' in checked) return request.flow.login(request.ctx, interaction, checked.user);
  showLoginOf(interaction, request, checked);
  return undefined;
}

function showLoginOf(
  { action, client, redirectUri }: Interaction,
  request: PageRequest,
  form: LoginForm,
): void {
  const { text } = request;
  const lead = sentence(text['login.lead'], { client: nameOfApp(client, text) });
  showLogin(request, {
    ...form,
    action: `${action}/login`,
    lead,
    destination: destination(redirectUri, text),
  });
}

/**
 * The login page outside an authorization request, for the pages of this server. Redirects a user who is signed in already, unless
 * `prompt=login` asks for the password again.
 */
export async function askToSignIn(request: PageRequest): Promise<void> {
  const { ctx, flow } = request;
  const target = returnTo(request);
  const again = queryText(ctx, 'prompt') === 'login' ? 'again' : undefined;
  const loginUrl = flow.loginUrl(target, again);
  if (!again && (await flow.currentUser(ctx))) seeOther(ctx, target);
  else if (isElsewhere(loginUrl, request)) seeOther(ctx, loginUrl);
  else showSignIn(request, { login: '', problems: [] });
}

/** Checks the login form and signs the user in, or shows the page again with 422. */
export async function submitSignIn(request: PageRequest): Promise<void> {
  const { ctx, flow } = request;
  const checked = await checkLogin(request);
  if (!('user' in checked)) return showSignIn(request, checked);
  await flow.signIn(ctx, checked.user);
  return seeOther(ctx, returnTo(request));
}

function showSignIn(request: PageRequest, form: LoginForm): void {
  const { brand, ctx, flow, text } = request;
  const lead = sentence(text['login.leadBrand'], { brand });
  const action = flow.basePath + LOGIN + ctx.search;
  showLogin(request, { ...form, action, lead, destination: undefined });
}

const LOGIN = '/oauth/login';

/** The path to redirect to after the login: the one in `?return_to=` if it is on this server, else the user's own page. */
function returnTo(request: PageRequest): string {
  const wanted = request.ctx.query['return_to'];
  const path = typeof wanted === 'string' ? request.flow.pathHere(wanted) : undefined;
  return path ?? ownPage(request);
}

/** The link to the login page, for a page that nobody needs to be signed in for. */
export function linkToSignIn(request: PageRequest): Link {
  return { href: request.flow.loginUrl(ownPage(request)), label: request.text['login.submit'] };
}

/** The page that a user is sent to after the login, when no other one was wanted. */
function ownPage({ flow }: PageRequest): string {
  return flow.accountPath === undefined ? '/' : flow.basePath + flow.accountPath;
}

/** Whether the login page is one of the host. */
export function isElsewhere(loginUrl: string, { flow }: PageRequest): boolean {
  const { origin, pathname } = new URL(loginUrl, flow.origin);
  return origin !== flow.origin || pathname !== flow.basePath + LOGIN;
}

/** The login form as it was posted, and its problems. */
interface LoginForm {
  readonly login: string;
  readonly problems: readonly FieldProblem[];
  /** The form is complete, but the user store does not accept login and password. */
  readonly refused?: boolean;
  /** The wait before the next attempt, after too many failed ones. */
  readonly retryAfter?: Seconds;
}

/** Checks the login form. Resolves to the user, or to the form to show again. */
async function checkLogin({ count, ctx, flow, text }: PageRequest): Promise<{ user: User } | LoginForm> {
  const { login: typed = '', password = '' } = await readForm(ctx);
  // Blanks around a login come from pasting; in a password they may be intended.
  const login = typed.trim();

  const problems: FieldProblem[] = [];
  if (login === '') problems.push({ field: 'login', message: text['login.loginMissing'] });
  if (password === '') problems.push({ field: 'password', message: text['login.passwordMissing'] });
  if (problems.length > 0) return { login, problems };

  try {
    const user = await flow.authenticate(ctx, login, password);
    if (user) return { user };
  } catch (error) {
    if (!(error instanceof TooManyAttemptsError)) throw error;
    const { retryAfter } = error;
    const message = plain(
      retryAfter > LONGEST_IN_SECONDS
        ? count('login.throttledMinutes', Math.ceil(retryAfter / 60))
        : count('login.throttledSeconds', retryAfter),
    );
    return { login, problems: [{ message }], retryAfter };
  }
  return { login, problems: [{ field: 'login', message: text['login.refused'] }], refused: true };
}

// Longer waits are shown in minutes.
const LONGEST_IN_SECONDS = 90;

/** Shows the login page, with 422 when there are problems, and with 429 after too many failed attempts. */
function showLogin(
  { ctx, show, text }: PageRequest,
  {
    retryAfter,
    ...page
  }: LoginForm & {
    readonly action: string;
    readonly lead: Sentence;
    readonly destination: string | undefined;
  },
): void {
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  const wrong = page.problems.length > 0 ? 422 : 200;
  show({
    view: 'login',
    status: retryAfter === undefined ? wrong : 429,
    heading: sentence(text['login.heading']),
    // The login may redirect to the client's site, which the CSP directive `form-action 'self'` would block.
    formsStayHere: false,
    refused: false,
    ...page,
  });
}

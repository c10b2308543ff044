import type { LoginForm, LoginFormWithoutClient, LoginProblem } from '../lib/contracts/index.ts';
import { destination } from './navigation.ts';
import type { FieldProblem } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import { nameOfApp } from './unregistered.ts';

/** Shows the login page for an app. */
export function showLogin(request: PageRequest, form: LoginForm): void {
  const { client, redirectUri } = form;
  const { text } = request;
  const lead = sentence(text['login.lead'], { client: nameOfApp(client, text) });
  showForm(request, form, { lead, destination: destination(redirectUri, text) });
}

/** Shows the login page outside an authorization, for the pages of this server. */
export function showLoginWithoutClient(request: PageRequest, form: LoginFormWithoutClient): void {
  const { brand, text } = request;
  showForm(request, form, { lead: sentence(text['login.leadBrand'], { brand }), destination: undefined });
}

function showForm(
  request: PageRequest,
  { action, login, problems, retryAfter, status }: LoginFormWithoutClient,
  page: { readonly lead: Sentence; readonly destination: string | undefined },
): void {
  const { show, text } = request;
  show({
    view: 'login',
    status,
    heading: sentence(text['login.heading']),
    ...page,
    action,
    login,
    problems: problems.map((problem) => describeProblem(problem, retryAfter ?? 0, request)),
    refused: problems.includes('login_refused'),
    // The login may redirect to the client's site, which the CSP directive `form-action 'self'` would block.
    formsStayHere: false,
  });
}

// Longer waits are shown in minutes.
const LONGEST_IN_SECONDS = 90;

function describeProblem(
  problem: LoginProblem,
  retryAfter: number,
  { count, text }: PageRequest,
): FieldProblem {
  switch (problem) {
    case 'login_missing':
      return { field: 'login', message: text['login.loginMissing'] };
    case 'password_missing':
      return { field: 'password', message: text['login.passwordMissing'] };
    case 'login_refused':
      return { field: 'login', message: text['login.refused'] };
    case 'too_many_attempts':
      return {
        message: plain(
          retryAfter > LONGEST_IN_SECONDS
            ? count('login.throttledMinutes', Math.ceil(retryAfter / 60))
            : count('login.throttledSeconds', retryAfter),
        ),
      };
    default:
      return problem satisfies never;
  }
}

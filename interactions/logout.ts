import type { LogoutPage } from '../lib/contracts/index.ts';
import { destination } from './navigation.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';
import { nameOfApp } from './unregistered.ts';
import { describeViewer, displayName } from './viewer.ts';

/** Asks for confirmation of the logout, or says how it ended. */
export async function showLogout(request: PageRequest, page: LogoutPage): Promise<void> {
  return page.kind === 'form' ? confirmLogout(request, page) : showEnd(request, page);
}

/** Shows the form that ends the login session. */
async function confirmLogout(
  request: PageRequest,
  { action, client, next, user }: Extract<LogoutPage, { kind: 'form' }>,
): Promise<void> {
  const { brand, homePage, show, text } = request;
  const names = { user: displayName(user), client: client ? nameOfApp(client, text) : '' };
  show({
    view: 'logout',
    viewer: await describeViewer(request, user),
    heading: sentence(text['logout.heading'], { brand }),
    lead: sentence(text[client ? 'logout.leadOfApp' : 'logout.lead'], names),
    formsStayHere: next === undefined,
    destination: next === undefined ? undefined : destination(next, text),
    action,
    // To the platform also where an app has asked: its URL is the one for users who have logged out.
    stay: { href: homePage.href, label: text['logout.stay'] },
  });
}

const TEXTS = {
  logged_out: 'logout.done',
  not_logged_in: 'logout.notLoggedIn',
  still_logged_in: 'logout.stillLoggedIn',
} as const;

function showEnd(
  { brand, homePage, show, text }: PageRequest,
  { next, result, loginUrl }: Extract<LogoutPage, { kind: 'done' }>,
): void {
  const name = TEXTS[result];
  const toApp = (url: string) => plain(sentence(text['logout.continue'], { name: destination(url, text) }));
  show({
    view: 'notice',
    details: [],
    heading: sentence(text[`${name}Heading`], { brand }),
    lead: sentence(text[`${name}Lead`], { brand }),
    next: [
      // A link, which names where it leads.
      ...(next === undefined ? [] : [{ href: next, label: toApp(next) }]),
      ...(result === 'still_logged_in' ? [] : [{ href: loginUrl, label: text['login.submit'] }]),
      homePage,
    ],
  });
}

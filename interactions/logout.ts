import type { LogoutRequest } from '../lib/contracts/index.ts';
import { destination } from './consent.ts';
import { linkToSignIn } from './login.ts';
import { seeOther } from './navigation.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';
import { nameOfApp } from './unregistered.ts';
import { describeViewer, displayName } from './viewer.ts';

/**
 * Asks for confirmation of the logout, or shows that no user is signed in. When an app asks for the logout of this session (OpenID Connect
 * RP-Initiated Logout 1.0), the user is signed out at once.
 */
export async function askForLogout(request: PageRequest): Promise<void> {
  const { brand, ctx, flow, show, text } = request;
  const asked = await flow.logoutRequest(ctx);
  if (asked?.isOfSession) return endSession(request, asked);
  const user = await flow.currentUser(ctx);
  if (!user) return leave(request, 'logout.notSignedIn', asked);
  const names = { user: displayName(user), client: asked?.client ? nameOfApp(asked.client, text) : '' };
  show({
    view: 'logout',
    viewer: await describeViewer(request, user),
    heading: sentence(text['logout.heading'], { brand }),
    lead: sentence(text[asked?.client ? 'logout.leadOfApp' : 'logout.lead'], names),
    // Afterwards the browser is sent to the app.
    formsStayHere: asked?.next === undefined,
    action: `${flow.basePath}/oauth/logout${asked ? ctx.search : ''}`,
  });
  return undefined;
}

/** Signs the user out. */
export async function submitLogout(request: PageRequest): Promise<void> {
  const asked = await request.flow.logoutRequest(request.ctx);
  // The user has seen which app it is, and has pressed the button.
  return endSession(request, asked && { ...asked, mayReturn: true });
}

async function endSession(request: PageRequest, asked: LogoutRequest | undefined): Promise<void> {
  const { hostSessionContinues } = await request.flow.logout(request.ctx);
  return leave(request, hostSessionContinues ? 'logout.stillSignedIn' : 'logout.done', asked);
}

/** Returns to the app that has asked for the logout, or shows a notice, which says so if the user is still signed in to the host. */
function leave(
  request: PageRequest,
  name: 'logout.notSignedIn' | 'logout.stillSignedIn' | 'logout.done',
  { mayReturn, next }: Partial<LogoutRequest> = {},
): void {
  const { brand, ctx, homePage, show, text } = request;
  if (next !== undefined && mayReturn) return seeOther(ctx, next);
  const here = name === 'logout.stillSignedIn' ? [homePage] : [linkToSignIn(request), homePage];
  const label = next && plain(sentence(text['logout.continue'], { name: destination(next, text) }));
  show({
    view: 'notice',
    details: [],
    heading: sentence(text[`${name}Heading`], { brand }),
    lead: sentence(text[`${name}Lead`], { brand }),
    next: next && label ? [{ href: next, label }, ...here] : here,
  });
  return undefined;
}

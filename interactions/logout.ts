import type { LogoutRequest } from '../lib/contracts/index.ts';
import { linkToSignIn } from './login.ts';
import { seeOther } from './navigation.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
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
  if (!user) return showNotice(request, 'logout.notSignedIn');
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
  return endSession(request, await request.flow.logoutRequest(request.ctx));
}

/** Returns to the app that has asked for it, or shows a notice, which says so if the user is still signed in to the host. */
async function endSession(request: PageRequest, asked: LogoutRequest | undefined): Promise<void> {
  const { ctx, flow } = request;
  const { hostSessionContinues } = await flow.logout(ctx);
  if (asked?.next !== undefined) return seeOther(ctx, asked.next);
  return showNotice(request, hostSessionContinues ? 'logout.stillSignedIn' : 'logout.done');
}

function showNotice(
  request: PageRequest,
  name: 'logout.notSignedIn' | 'logout.stillSignedIn' | 'logout.done',
): void {
  const { brand, homePage, show, text } = request;
  show({
    view: 'notice',
    details: [],
    heading: sentence(text[`${name}Heading`], { brand }),
    lead: sentence(text[`${name}Lead`], { brand }),
    next: name === 'logout.stillSignedIn' ? [homePage] : [linkToSignIn(request), homePage],
  });
}

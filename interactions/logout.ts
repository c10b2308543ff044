import type { LogoutRequest } from '../lib/contracts/index.ts';
import { destination } from './consent.ts';
import { linkToSignIn } from './login.ts';
import { seeOther } from './navigation.ts';
import type { Link } from './navigation.ts';
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
  if (asked?.isOfSession) return endSession(request, asked.next);
  const user = await flow.currentUser(ctx);
  if (!user) return leave(request, asked);
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

/** Signs the user out, who has seen which app asks for it, and has pressed the button. */
export async function submitLogout(request: PageRequest): Promise<void> {
  return endSession(request, (await request.flow.logoutRequest(request.ctx))?.next);
}

/** Returns to the app that has asked for the logout, or shows a notice, which says so if the user is still signed in to the host. */
async function endSession(request: PageRequest, next: string | undefined): Promise<void> {
  const { hostSessionContinues } = await request.flow.logout(request.ctx);
  if (next !== undefined) return seeOther(request.ctx, next);
  return hostSessionContinues
    ? notify(request, 'logout.stillSignedIn', [request.homePage])
    : notify(request, 'logout.done', [linkToSignIn(request), request.homePage]);
}

/** Where nobody is signed in, goes on to the app only if that {@link LogoutRequest.mayReturn}; else with a link that names it. */
function leave(request: PageRequest, { mayReturn, next }: Partial<LogoutRequest> = {}): void {
  const { ctx, homePage, text } = request;
  if (next !== undefined && mayReturn) return seeOther(ctx, next);
  const label = next && plain(sentence(text['logout.continue'], { name: destination(next, text) }));
  const links = [linkToSignIn(request), homePage];
  return notify(request, 'logout.notSignedIn', next && label ? [{ href: next, label }, ...links] : links);
}

function notify(
  { brand, show, text }: PageRequest,
  name: 'logout.notSignedIn' | 'logout.stillSignedIn' | 'logout.done',
  next: readonly Link[],
): void {
  show({
    view: 'notice',
    details: [],
    heading: sentence(text[`${name}Heading`], { brand }),
    lead: sentence(text[`${name}Lead`], { brand }),
    next,
  });
}

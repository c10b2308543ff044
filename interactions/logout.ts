import type { LogoutRequest } from '../lib/contracts/index.ts';
import { linkToSignIn } from './login.ts';
import { destination, seeOther } from './navigation.ts';
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
  if (asked?.isOfSession) return endSession(request, asked);
  const user = await flow.currentUser(ctx);
  if (!user) return leave(request, asked, 'logout.notSignedIn', [linkToSignIn(request), request.homePage]);
  const { mayReturn = false, next } = asked ?? {};
  const names = { user: displayName(user), client: asked?.client ? nameOfApp(asked.client, text) : '' };
  show({
    view: 'logout',
    viewer: await describeViewer(request, user),
    heading: sentence(text['logout.heading'], { brand }),
    lead: sentence(text[asked?.client ? 'logout.leadOfApp' : 'logout.lead'], names),
    // Afterwards the browser is sent to the app.
    formsStayHere: !mayReturn,
    destination: mayReturn ? destination(next!, text) : undefined,
    action: `${flow.basePath}/oauth/logout${asked ? ctx.search : ''}`,
  });
  return undefined;
}

/** Signs the user out, who has seen which app asks for it, and has pressed the button. */
export async function submitLogout(request: PageRequest): Promise<void> {
  return endSession(request, await request.flow.logoutRequest(request.ctx));
}

/** Returns to the app that has asked for the logout, or shows a notice, which says so if the user is still signed in to the host. */
async function endSession(request: PageRequest, asked: LogoutRequest | undefined): Promise<void> {
  const { hostSessionContinues } = await request.flow.logout(request.ctx);
  const links = hostSessionContinues ? [request.homePage] : [linkToSignIn(request), request.homePage];
  return leave(request, asked, hostSessionContinues ? 'logout.stillSignedIn' : 'logout.done', links);
}

/** Goes on to the app if that {@link LogoutRequest.mayReturn}; else shows a notice with a link that names where it leads. */
function leave(
  request: PageRequest,
  asked: LogoutRequest | undefined,
  notice: Notice,
  links: readonly Link[],
): void {
  const { ctx, text } = request;
  const { mayReturn, next } = asked ?? {};
  if (next === undefined) return notify(request, notice, links);
  if (mayReturn) return seeOther(ctx, next);
  const label = plain(sentence(text['logout.continue'], { name: destination(next, text) }));
  return notify(request, notice, [{ href: next, label }, ...links]);
}

type Notice = 'logout.notSignedIn' | 'logout.stillSignedIn' | 'logout.done';

function notify({ brand, show, text }: PageRequest, name: Notice, next: readonly Link[]): void {
  show({
    view: 'notice',
    details: [],
    heading: sentence(text[`${name}Heading`], { brand }),
    lead: sentence(text[`${name}Lead`], { brand }),
    next,
  });
}

import type { User } from '../lib/contracts/index.ts';
import { linkToSignIn } from './login.ts';
import type { Link } from './navigation.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import { describeViewer, displayName } from './viewer.ts';

/** Asks for confirmation of the logout, or shows that no user is signed in. */
export async function askForLogout(request: PageRequest): Promise<void> {
  const { ctx, flow, homePage } = request;
  const user = await flow.userToSignOut(ctx);
  return user
    ? confirmLogout(request, user)
    : notify(request, 'logout.notSignedIn', [linkToSignIn(request), homePage]);
}

/** What a feature says of a logout. */
export interface AskedLogout {
  readonly lead?: Sentence;
  /** Where the browser is sent afterwards. @default nowhere */
  readonly destination?: string | undefined;
  /** The query of the form's target. */
  readonly query?: string;
}

/** Shows the form that ends the login session. */
export async function confirmLogout(
  request: PageRequest,
  user: User,
  {
    destination,
    lead = sentence(request.text['logout.lead'], { user: displayName(user) }),
    query = '',
  }: AskedLogout = {},
): Promise<void> {
  const { brand, flow, show, text } = request;
  show({
    view: 'logout',
    viewer: await describeViewer(request, user),
    heading: sentence(text['logout.heading'], { brand }),
    lead,
    formsStayHere: destination === undefined,
    destination,
    action: `${flow.basePath}/oauth/logout${query}`,
  });
}

/** Signs the user out, and shows a notice, which says so if the user is still signed in to the host. */
export async function submitLogout(request: PageRequest): Promise<void> {
  const { links, notice } = await endSession(request);
  notify(request, notice, links);
}

/** Ends the login session. Resolves to what is said afterwards. */
export async function endSession(
  request: PageRequest,
): Promise<{ readonly notice: Notice; readonly links: readonly Link[] }> {
  const { hostSessionContinues } = await request.flow.logout(request.ctx);
  return hostSessionContinues
    ? { notice: 'logout.stillSignedIn', links: [request.homePage] }
    : { notice: 'logout.done', links: [linkToSignIn(request), request.homePage] };
}

export type Notice = 'logout.notSignedIn' | 'logout.stillSignedIn' | 'logout.done';

export function notify({ brand, show, text }: PageRequest, name: Notice, next: readonly Link[]): void {
  show({
    view: 'notice',
    details: [],
    heading: sentence(text[`${name}Heading`], { brand }),
    lead: sentence(text[`${name}Lead`], { brand }),
    next,
  });
}

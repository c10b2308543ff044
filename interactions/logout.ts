import { linkToSignIn } from './login.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
import { describeViewer, displayName } from './viewer.ts';

/** Asks for confirmation of the logout, or shows that no user is signed in. */
export async function askForLogout(request: PageRequest): Promise<void> {
  const { brand, ctx, flow, show, text } = request;
  const user = await flow.currentUser(ctx);
  if (user) {
    show({
      view: 'logout',
      viewer: await describeViewer(request, user),
      heading: sentence(text['logout.heading'], { brand }),
      lead: sentence(text['logout.lead'], { user: displayName(user) }),
      action: `${flow.basePath}/oauth/logout`,
    });
  } else {
    showNotice(request, 'logout.notSignedIn');
  }
}

/** Signs the user out and shows a notice, which says so if the user is still signed in to the host. */
export async function submitLogout(request: PageRequest): Promise<void> {
  const { hostSessionContinues } = await request.flow.logout(request.ctx);
  showNotice(request, hostSessionContinues ? 'logout.stillSignedIn' : 'logout.done');
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

import type { Context } from 'koa';
import { sentence } from './sentence.ts';
import type { PageContext } from './page-context.ts';
import { describeViewer, displayName } from './viewer.ts';

/** Asks for confirmation of the logout, or shows that no user is signed in. */
export async function askForLogout(ctx: Context, pageContext: PageContext): Promise<void> {
  const { flow, show, text, brand } = pageContext;
  const user = await flow.currentUser(ctx);
  if (user) {
    show(ctx, {
      view: 'logout',
      viewer: await describeViewer(ctx, user, pageContext),
      heading: sentence(text['logout.heading'], { brand }),
      lead: sentence(text['logout.lead'], { user: displayName(user) }),
      action: `${flow.basePath}/oauth/logout`,
    });
  } else {
    show(ctx, {
      view: 'notice',
      details: [],
      heading: sentence(text['logout.notSignedInHeading']),
      lead: sentence(text['logout.notSignedInLead']),
    });
  }
}

/** Signs the user out and shows a notice, which says so if the user is still signed in to the host. */
export async function submitLogout(ctx: Context, { brand, flow, show, text }: PageContext): Promise<void> {
  const { hostSessionContinues } = await flow.logout(ctx);
  const result = hostSessionContinues ? 'logout.stillSignedIn' : 'logout.done';
  show(ctx, {
    view: 'notice',
    details: [],
    heading: sentence(text[`${result}Heading`], { brand }),
    lead: sentence(text[`${result}Lead`], { brand }),
  });
}

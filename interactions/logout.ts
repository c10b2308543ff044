import type { Context } from 'koa';
import { sentence } from './sentence.ts';
import type { PageContext } from './page-context.ts';
import { describeViewer, displayName } from './viewer.ts';

/** Asks whether to sign out, or says that nobody is signed in. */
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
      heading: sentence(text['logout.nobodyHeading']),
      lead: sentence(text['logout.nobodyLead']),
    });
  }
}

/** Signs out and says so; or says that the user is still signed in, when the host's own session goes on. */
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

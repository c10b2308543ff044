import type { Context, Middleware } from 'koa';
import type { User } from '../lib/contracts/index.ts';
import { GatehouseError } from '../lib/errors.ts';
import { showRefusal } from './error.ts';
import { seeOther } from './see-other.ts';
import { sentence } from './sentence.ts';
import type { Site, SiteFor } from './site.ts';
import { describeViewer } from './viewer.ts';

/** Runs a step of the pages that need somebody who is signed in; everybody else is asked to sign in first. */
export function signedIn(
  siteFor: SiteFor,
  step: (ctx: Context, user: User, site: Site) => Promise<void>,
): Middleware {
  return async function runSignedIn(ctx) {
    const site = siteFor(ctx);
    const { flow } = site;
    const user = await flow.currentUser(ctx);
    if (user) {
      try {
        await step(ctx, user, site);
      } catch (error) {
        if (!(error instanceof GatehouseError)) throw error;
        showRefusal(ctx, error, site, await describeViewer(ctx, user, site));
      }
    } else if (ctx.method === 'POST') {
      askToSignInAgain(ctx, site);
    } else {
      seeOther(ctx, flow.loginUrl(flow.basePath + ctx.path + ctx.search));
    }
  };
}

// The session ended while the form was open. A redirect would throw away what was typed; a page that is reloaded sends
// it again.
function askToSignInAgain(ctx: Context, { flow, show, text }: Site): void {
  show(ctx, {
    view: 'notice',
    status: 403,
    heading: sentence(text['signedOut.heading']),
    lead: sentence(text['signedOut.lead']),
    details: [],
    beside: { href: flow.loginUrl(flow.basePath + ctx.path), label: text['signedOut.signIn'] },
  });
}

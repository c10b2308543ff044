import type { Context, Middleware } from 'koa';
import type { User } from '../lib/contracts/index.ts';
import { GatehouseError, PermissionMissingError } from '../lib/errors.ts';
import { showExpectedError } from './error.ts';
import { seeOther } from './navigation.ts';
import type { Viewer } from './page.ts';
import { printable, sentence } from './sentence.ts';
import type { PageContext, PageContextFor } from './page-context.ts';

/**
 * Describes a signed-in user for the header of a page.
 *
 * @param develops - whether the user may use the developer area. @default looked up
 */
export async function describeViewer(
  ctx: Context,
  user: User,
  { flow, text }: PageContext,
  develops?: boolean,
): Promise<Viewer> {
  const { accountPath, basePath, developerPath } = flow;
  const links: { path: string; label: string }[] = [];
  if (accountPath !== undefined) links.push({ path: accountPath, label: text['page.authorizedApps'] });
  if (developerPath !== undefined && (develops ?? (await mayDevelop()))) {
    links.push({ path: developerPath, label: text['page.apps'] });
  }
  return {
    name: displayName(user),
    links: links.map(({ path, label }) => ({
      href: basePath + path,
      label,
      current: ctx.path === path ? 'page' : ctx.path.startsWith(`${path}/`) ? 'true' : undefined,
    })),
    signOut: { href: `${basePath}/oauth/logout`, label: text['page.signOut'] },
  };

  async function mayDevelop(): Promise<boolean> {
    try {
      await flow.developer(ctx, user);
      return true;
    } catch (error) {
      if (error instanceof PermissionMissingError) return false;
      throw error;
    }
  }
}

/** The name of a user on pages: the email, because two users can have the same name; else the name, else the id. */
export function displayName({ email, name, id }: User): string {
  return printable(email || name || id);
}

/** Route handler of a page that needs a signed-in user; without one, the request is redirected to the login page. */
export function signedIn(
  pageContextFor: PageContextFor,
  step: (ctx: Context, user: User, pageContext: PageContext) => Promise<void>,
): Middleware {
  return async function runSignedIn(ctx) {
    const pageContext = pageContextFor(ctx);
    const { flow } = pageContext;
    const user = await flow.currentUser(ctx);
    if (user) {
      try {
        await step(ctx, user, pageContext);
      } catch (error) {
        if (!(error instanceof GatehouseError)) throw error;
        showExpectedError(ctx, error, pageContext, await describeViewer(ctx, user, pageContext));
      }
    } else if (ctx.method === 'POST') {
      askToSignInAgain(ctx, pageContext);
    } else {
      seeOther(ctx, flow.loginUrl(flow.basePath + ctx.path + ctx.search));
    }
  };
}

// The session ended while the form was open. A redirect would lose the posted fields; after a sign-in in another tab, reloading
// this page posts them again.
function askToSignInAgain(ctx: Context, { flow, show, text }: PageContext): void {
  show(ctx, {
    view: 'notice',
    status: 403,
    heading: sentence(text['signedOut.heading']),
    lead: sentence(text['signedOut.lead']),
    details: [],
    beside: { href: flow.loginUrl(flow.basePath + ctx.path), label: text['signedOut.signIn'] },
  });
}

import type { User } from '../lib/contracts/index.ts';
import { GatehouseError } from '../lib/errors.ts';
import { pagesOfFeatures } from './feature-pages.ts';
import { showExpectedError } from './error.ts';
import { seeOther } from './navigation.ts';
import type { FeatureView, Viewer } from './page.ts';
import type { PageRequest, Step } from './page-request.ts';
import { printable, sentence } from './sentence.ts';

/** Describes a signed-in user for the header of a page. */
export async function describeViewer({ ctx, flow, text }: PageRequest, user: User): Promise<Viewer> {
  const { accountPath, basePath } = flow;
  const links: { path: string; label: string }[] = [];
  if (accountPath !== undefined) links.push({ path: accountPath, label: text['page.authorizedApps'] });
  for (const feature of pagesOfFeatures(flow)) {
    const link = await feature.link?.(ctx, user);
    if (link) links.push({ path: link.path, label: (text as Readonly<Record<string, string>>)[link.text]! });
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
}

/** The name of a user on pages: the email, because two users can have the same name; else the name, else the id. */
export function displayName({ email, name, id }: User): string {
  return printable(email || name || id);
}

/** A step that needs a signed-in user; without one, the request is redirected to the login page. */
export function signedIn<Key extends string = never, V extends FeatureView = never>(
  step: (request: PageRequest<Key, V>, user: User) => Promise<void>,
): Step<Key, V> {
  return async function runSignedIn(request) {
    const { ctx, flow } = request;
    const user = await flow.currentUser(ctx);
    if (user) {
      try {
        await step(request, user);
      } catch (error) {
        if (!(error instanceof GatehouseError)) throw error;
        showExpectedError(request, error, await describeViewer(request, user));
      }
    } else if (ctx.method === 'POST') {
      askToSignInAgain(request, flow.basePath + ctx.path);
    } else {
      seeOther(ctx, flow.loginUrl(flow.basePath + ctx.path + ctx.search));
    }
  };
}

// The session ended, or grew too old, while the form was open. A redirect would lose the posted fields; after a sign-in in another tab,
// reloading this page posts them again.
export function askToSignInAgain({ flow, show, text }: PageRequest, returnTo: string, again?: 'again'): void {
  show({
    view: 'notice',
    status: 403,
    heading: sentence(text['signedOut.heading']),
    lead: sentence(text['signedOut.lead']),
    details: [],
    beside: { href: flow.loginUrl(returnTo, again), label: text['signedOut.signIn'] },
  });
}

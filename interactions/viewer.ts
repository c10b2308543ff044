import type { User } from '../lib/contracts/index.ts';
import type { Viewer } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { printable, sentence } from './sentence.ts';

/** Describes a signed-in user for the header of a page. */
export async function describeViewer({ ctx, server, text }: PageRequest, user: User): Promise<Viewer> {
  const { accountPath, basePath, sessionsPath } = server;
  const links: { path: string; label: string }[] = [];
  if (accountPath !== undefined) links.push({ path: accountPath, label: text['page.authorizedApps'] });
  if (sessionsPath !== undefined) links.push({ path: sessionsPath, label: text['page.sessions'] });
  for (const feature of server.features) {
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
    logout: { href: `${basePath}/oauth/logout`, label: text['page.logout'] },
  };
}

/** The name of a user on pages: the email, because two users can have the same name; else the name, else the id. */
export function displayName({ email, name, id }: User): string {
  return printable(email || name || id);
}

// The session ended, or grew too old, while the form was open. A redirect would lose the posted fields; after a sign-in in another tab,
// reloading this page posts them again.
export function askToLogInAgain({ show, text }: PageRequest, loginUrl: string): void {
  show({
    view: 'notice',
    status: 403,
    heading: sentence(text['loggedOut.heading']),
    lead: sentence(text['loggedOut.lead']),
    details: [],
    beside: { href: loginUrl, label: text['loggedOut.login'] },
  });
}

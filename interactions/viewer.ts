import type { Context } from 'koa';
import type { User } from '../lib/contracts/index.ts';
import { PermissionMissingError } from '../lib/errors.ts';
import { displayName } from './display-name.ts';
import type { Viewer } from './page.ts';
import type { Site } from './site.ts';

/**
 * Describes a signed-in person for the header of a page.
 *
 * @param develops - whether they may use the developer area, for those who know already
 */
export async function describeViewer(
  ctx: Context,
  user: User,
  { flow, text }: Site,
  develops?: boolean,
): Promise<Viewer> {
  const { accountPath, basePath, developerPath } = flow;
  const links: { path: string; label: string }[] = [];
  if (accountPath !== undefined) links.push({ path: accountPath, label: text['page.connections'] });
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

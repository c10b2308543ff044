import { seeOther } from '../navigation.ts';
import { sentence } from '../sentence.ts';
import { afterwards, appPath, findApp, showPage } from './visit.ts';
import type { Step, Visit } from './visit.ts';

/** Asks whether an app is really to be deleted or disabled, or to lose its tokens. */
export function askFirst(what: 'delete' | 'disable' | 'revoke'): Step {
  return async function ask(visit) {
    const { home, site } = visit;
    const { text } = site;
    const client = await findApp(visit);
    showPage(visit, {
      view: 'confirm',
      wide: false,
      heading: sentence(text[`apps.${what}Heading`], { client: client.name }),
      lead: sentence(text[`apps.${what}Lead`]),
      action: appPath(home, client.id, what),
      button: text[`apps.${what}`],
      cancel: { href: appPath(home, client.id), label: text['page.cancel'] },
    });
  };
}

/** Stops an app and its tokens, until it is enabled again. */
export async function disableApp(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.disable(id);
  seeOther(ctx, afterwards(appPath(home, id), 'disabled'));
}

/** Lets an app go on. */
export async function enableApp(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.enable(id);
  seeOther(ctx, afterwards(appPath(home, id), 'enabled'));
}

/** Revokes every token of an app, for good. */
export async function revokeTokens(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.revokeTokens(id);
  seeOther(ctx, afterwards(appPath(home, id), 'tokensRevoked'));
}

/** Removes an app for good. */
export async function deleteApp(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.delete(id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

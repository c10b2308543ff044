import type { Developer } from '../../lib/contracts/index.ts';
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

/** Makes a step that changes an app, and shows its page again with a word about it. */
function change(
  done: Parameters<typeof afterwards>[1],
  make: (developer: Developer, id: string) => Promise<unknown>,
): Step {
  return async function changeApp(visit) {
    const { ctx, developer, home } = visit;
    const { id } = await findApp(visit);
    await make(developer, id);
    seeOther(ctx, afterwards(appPath(home, id), done));
  };
}

/** Stops an app and its tokens, until it is enabled again. */
export const disableApp: Step = change('disabled', async (developer, id) => developer.disable(id));

/** Lets an app go on. */
export const enableApp: Step = change('enabled', async (developer, id) => developer.enable(id));

/** Revokes every token of an app, for good. */
export const revokeTokens: Step = change('tokensRevoked', async (developer, id) =>
  developer.revokeTokens(id),
);

/** Removes an app for good. */
export async function deleteApp(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.delete(id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

import type { Developer } from '../../lib/contracts/index.ts';
import { seeOther } from '../navigation.ts';
import { sentence } from '../sentence.ts';
import { afterwards, appPath, findApp, showPage } from './developer-request.ts';
import type { Step, DeveloperRequest } from './developer-request.ts';

/** Asks whether an app is really to be deleted or disabled, or to lose its tokens. */
export function askFirst(what: 'delete' | 'disable' | 'revoke'): Step {
  return async function ask(request) {
    const { home, pageContext } = request;
    const { text } = pageContext;
    const client = await findApp(request);
    showPage(request, {
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
  return async function changeApp(request) {
    const { ctx, developer, home } = request;
    const { id } = await findApp(request);
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
export async function deleteApp(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home } = request;
  const { id } = await findApp(request);
  await developer.delete(id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

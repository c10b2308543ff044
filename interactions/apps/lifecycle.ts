import type { Developer } from '../../lib/contracts/index.ts';
import { seeOther } from '../navigation.ts';
import { sentence } from '../sentence.ts';
import { titleOfApp } from '../unregistered.ts';
import { afterwards, appPath, findApp, showPage } from './developer-request.ts';
import type { Step, DeveloperRequest } from './developer-request.ts';

/** Asks for confirmation before an app is deleted or disabled, or its tokens are revoked. */
export function askToConfirm(what: 'delete' | 'disable' | 'revoke'): Step {
  return async function ask(request) {
    const { home, pageContext } = request;
    const { text } = pageContext;
    const client = await findApp(request);
    showPage(request, {
      view: 'confirm',
      wide: false,
      heading: sentence(text[`apps.${what}Heading`], { client: titleOfApp(client, text) }),
      lead: sentence(text[`apps.${what}Lead`]),
      action: appPath(home, client.id, what),
      button: text[`apps.${what}`],
      cancel: { href: appPath(home, client.id), label: text['page.cancel'] },
    });
  };
}

/** Creates a route handler that changes an app and redirects to its page with a confirmation. */
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

/** Disables an app: it and its tokens are refused until it is enabled again. */
export const disableApp: Step = change('disabled', async (developer, id) => developer.disable(id));

/** Enables a disabled app. */
export const enableApp: Step = change('enabled', async (developer, id) => developer.enable(id));

/** Revokes all tokens of an app permanently. */
export const revokeTokens: Step = change('tokensRevoked', async (developer, id) =>
  developer.revokeTokens(id),
);

/** Deletes an app permanently. */
export async function deleteApp(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home } = request;
  const { id } = await findApp(request);
  await developer.delete(id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

import type { Developer } from '../../lib/contracts/index.ts';
import { seeOther } from '../navigation.ts';
import { askToConfirm } from '../page-request.ts';
import { sentence } from '../sentence.ts';
import { titleOfApp } from '../unregistered.ts';
import { afterwards } from './developer-request.ts';
import type { AppRequest } from './developer-request.ts';

/** Asks for confirmation before an app is deleted or disabled, or its tokens are revoked. */
export function askBefore(what: 'delete' | 'disable' | 'revoke') {
  return function ask(request: AppRequest): void {
    const { client, path, text } = request;
    askToConfirm(request, {
      heading: sentence(text[`apps.${what}Heading`], { client: titleOfApp(client, text) }),
      lead: sentence(text[`apps.${what}Lead`]),
      action: `${path}/${what}`,
      button: text[`apps.${what}`],
      cancel: path,
    });
  };
}

/** Creates a step that changes an app and redirects to its page with a confirmation. */
export function change(
  done: Parameters<typeof afterwards>[1],
  make: (developer: Developer, id: string) => Promise<unknown>,
) {
  return async function changeApp({ client, ctx, developer, path }: AppRequest): Promise<void> {
    await make(developer, client.id);
    seeOther(ctx, afterwards(path, done));
  };
}

/** Deletes an app permanently. */
export async function deleteApp({ client, ctx, developer, home }: AppRequest): Promise<void> {
  await developer.delete(client.id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

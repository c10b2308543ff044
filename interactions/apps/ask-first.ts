import { sentence } from '../sentence.ts';
import { appPath, findApp, showPage } from './visit.ts';
import type { Step } from './visit.ts';

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

import { sentence } from '../sentence.ts';
import { seeOther } from '../see-other.ts';
import { afterwards, appPath, findApp, showPage } from './visit.ts';
import type { Visit } from './visit.ts';

/** Asks whether an app is really to stop. */
export async function askToDisable(visit: Visit): Promise<void> {
  const { home, site } = visit;
  const { text } = site;
  const client = await findApp(visit);
  showPage(visit, {
    view: 'confirm',
    wide: false,
    heading: sentence(text['apps.disableHeading'], { client: client.name }),
    lead: sentence(text['apps.disableLead']),
    action: appPath(home, client.id, 'disable'),
    button: text['apps.disable'],
    cancel: { href: appPath(home, client.id), label: text['page.cancel'] },
  });
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

import { sentence } from '../sentence.ts';
import { seeOther } from '../see-other.ts';
import { afterwards, appPath, findApp, showPage } from './visit.ts';
import type { Visit } from './visit.ts';

/** Asks whether an app is really to go. */
export async function askToDelete(visit: Visit): Promise<void> {
  const { home, site } = visit;
  const { text } = site;
  const client = await findApp(visit);
  showPage(visit, {
    view: 'confirm',
    wide: false,
    heading: sentence(text['apps.deleteHeading'], { client: client.name }),
    lead: sentence(text['apps.deleteLead']),
    action: appPath(home, client.id, 'delete'),
    button: text['apps.delete'],
    cancel: { href: appPath(home, client.id), label: text['page.cancel'] },
  });
}

/** Removes an app for good. */
export async function deleteApp(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.delete(id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

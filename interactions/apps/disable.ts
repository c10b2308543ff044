import { seeOther } from '../see-other.ts';
import { afterwards, appPath, findApp } from './visit.ts';
import type { Visit } from './visit.ts';

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

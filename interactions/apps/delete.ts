import { seeOther } from '../see-other.ts';
import { afterwards, findApp } from './visit.ts';
import type { Visit } from './visit.ts';

/** Removes an app for good. */
export async function deleteApp(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.delete(id);
  seeOther(ctx, afterwards(home, 'deleted'));
}

import { seeOther } from '../see-other.ts';
import { afterwards, appPath, findApp } from './visit.ts';
import type { Visit } from './visit.ts';

/** Revokes every token of an app, for good. */
export async function revokeTokens(visit: Visit): Promise<void> {
  const { ctx, developer, home } = visit;
  const { id } = await findApp(visit);
  await developer.revokeTokens(id);
  seeOther(ctx, afterwards(appPath(home, id), 'tokensRevoked'));
}

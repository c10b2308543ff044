import { measureLoad } from './measure-load.ts';
import type { Load } from './measure-load.ts';
import { summarize } from './profile.ts';
import type { ProfileSummary } from './profile.ts';
import type { RunningContestant } from './running-contestant.ts';
import type { Operations } from './works/work.ts';

/** Profiles a server under load. */
export async function profileLoad(
  server: RunningContestant,
  operations: Operations,
  load: Load,
): Promise<ProfileSummary> {
  await server.startProfile();
  const { operations: count } = await measureLoad(server, operations, load);
  return summarize(await server.stopProfile(), count);
}

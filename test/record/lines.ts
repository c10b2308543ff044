import type { Platform } from '../harness/platform.ts';

/** A line of the log, with its level and message among its fields. */
export type Line = Readonly<Record<string, unknown>>;

/** The lines that `act` causes, in order. */
export async function linesOf(
  { logger }: Pick<Platform, 'logger'>,
  act: () => Promise<unknown>,
): Promise<Line[]> {
  const before = logger.lines.length;
  await act();
  return logger.lines
    .slice(before)
    .map(({ level, message, fields }) => Object.assign({ level, message }, fields));
}

/** The same without duration and request id. */
export async function outlinesOf(
  platform: Pick<Platform, 'logger'>,
  act: () => Promise<unknown>,
): Promise<Line[]> {
  const lines = await linesOf(platform, act);
  return lines.map(({ duration_ms: _duration, request_id: _id, ...rest }) => rest);
}

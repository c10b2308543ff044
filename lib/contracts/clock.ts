/** The current time in whole seconds since 1970 (NumericDate, RFC 7519 section 2). */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}

/**
 * Reads the state of a storage, and by how many milliseconds its clock is ahead of this machine's; negative when it is behind. 0
 * where it has no clock of its own, and where the time of the read explains the difference.
 */
export async function readState<State extends { readonly clock?: number | undefined }>(storage: {
  state(): Promise<State>;
}): Promise<{ readonly state: State; readonly ahead: number }> {
  const before = Date.now();
  const state = await storage.state();
  const after = Date.now();
  const { clock = after } = state;
  return { state, ahead: clock > after ? clock - after : Math.min(clock - before, 0) };
}

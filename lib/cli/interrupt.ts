/** The exit code of a process that was interrupted: 128 and the number of SIGINT. */
export const INTERRUPTED = 130;

/**
 * Does work that Ctrl-C ends after the batch under way, instead of in the middle. A second Ctrl-C ends the process.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const abort = (): void => interruption.abort();
  process.once('SIGINT', abort);
  try {
    return await work(interruption.signal);
  } finally {
    process.off('SIGINT', abort);
  }
}

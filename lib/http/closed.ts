import type { ServerResponse } from 'node:http';

/**
 * Calls a function when a response was sent completely or its connection has closed; at once when that is so already.
 *
 * The listener does not count towards the ten of which Node warns: a stream has seven of `pipeline()`, and the others are the host's.
 */
export function whenClosed(res: ServerResponse, call: () => void): void {
  if (res.closed) {
    call();
    return;
  }
  const most = res.getMaxListeners();
  if (most > 0) res.setMaxListeners(most + 1);
  res.once('close', call);
}

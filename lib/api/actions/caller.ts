import type { ActionContext } from './with-action.ts';

/** Aborted when the caller goes away before the answer was sent. */
export function whileCallerWaits(ctx: ActionContext): AbortSignal {
  const gone = new AbortController();
  const { res } = ctx;
  res.once('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  if (res.closed) gone.abort();
  return gone.signal;
}

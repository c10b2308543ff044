import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { Milliseconds } from '../contracts/duration.ts';
import { closeStream, whenSent } from './connection.ts';
import type { OnConnection } from './connection.ts';

/**
 * The responses that are being sent. The connections of clients that do not receive theirs are closed; over HTTP/2, the streams of these
 * responses.
 */
export interface SendingResponses {
  /**
   * Watches a response until it was sent, or its connection has closed: calls `ended` then, with `'evicted'` when the connection was
   * closed to admit another request.
   *
   * @param isStream - whether the body is made while it is sent. Such a response is not evicted
   */
  watch(
    res: ServerResponse & OnConnection,
    isStream: boolean,
    ended?: (how: 'evicted' | 'ended') => void,
  ): void;
  /**
   * Closes the connection of the response that its client has not received for the longest time, if that is more than a second, so
   * that clients which read nothing cannot use up the limit of concurrent requests. `false`: there is none.
   */
  evictOldest(): boolean;
}

const CHECK_INTERVAL: Milliseconds = 1000;

/** A response is not evicted earlier. */
const EVICTABLE_AFTER: Milliseconds = 1000;

interface Sending {
  readonly since: Milliseconds;
  readonly isStream: boolean;
  isLimited: boolean;
  isEvicted: boolean;
}

/**
 * @param timeout - how long a client may receive nothing of what is written for it. What has still to be computed takes as long as it
 * takes
 */
export function createSendingResponses(timeout: Milliseconds): SendingResponses {
  // In the order in which the sending began.
  const unsent = new Map<ServerResponse, Sending>();
  let timer: NodeJS.Timeout | undefined;

  // Nearly all responses are sent at once. A limit for each of them would cost more than the rest of this file.
  function limitUnsent(): void {
    timer = undefined;
    for (const [res, sending] of unsent) {
      const sender = senderOf(res);
      // While an earlier response is being sent on the connection it has no socket, and no turn.
      if (sending.isLimited || sender === null) continue;
      sending.isLimited = true;
      endUnlessReceived(res, sender, timeout);
    }
    if (unsent.size > 0) schedule();
  }

  function schedule(): void {
    timer ??= setTimeout(limitUnsent, CHECK_INTERVAL).unref();
  }

  return {
    watch(res, isStream, ended) {
      const sending = { since: performance.now(), isStream, isLimited: false, isEvicted: false };
      unsent.set(res, sending);
      schedule();
      whenSent(res, () => {
        unsent.delete(res);
        if (res.stream) closeStream(res.req, res.stream);
        ended?.(sending.isEvicted ? 'evicted' : 'ended');
      });
    },
    evictOldest() {
      const before = performance.now() - EVICTABLE_AFTER;
      for (const [res, sending] of unsent) {
        if (sending.since > before) return false;
        if (sending.isStream || sending.isEvicted) continue;
        // A response that waits for its turn has no socket of its own.
        const sender = senderOf(res) ?? res.req.socket;
        if (sender.writableLength === 0) continue;
        sending.isEvicted = true;
        sender.destroy();
        return true;
      }
      return false;
    },
  };
}

/** What sends a response: its connection or, over HTTP/2, its stream. `null`: it waits for its turn. */
type Sender = Pick<Socket, 'destroy' | 'setTimeout' | 'timeout' | 'writableLength'>;

function senderOf({ socket, stream }: ServerResponse & OnConnection): Sender | null {
  return (stream as Sender | undefined) ?? socket;
}

function endUnlessReceived(res: ServerResponse, sender: Sender, timeout: Milliseconds): void {
  const { timeout: before = 0 } = sender;
  if (before > 0 && before < timeout) return;
  // Node restarts it whenever the system accepts bytes for the client.
  sender.setTimeout(timeout);
  res.on('timeout', () => {
    if (sender.writableLength > 0) sender.destroy();
  });
  // Before Node's own listener, which sets the timeout of an idle connection.
  res.prependOnceListener('finish', () => sender.setTimeout(before));
}

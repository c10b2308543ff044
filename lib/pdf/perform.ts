import { setTimeout as delay } from 'node:timers/promises';

import { toMilliseconds, toSeconds } from '../contracts/duration.ts';
import type { Milliseconds } from '../contracts/duration.ts';
import { CONNECTION_ERRORS } from '../errors.ts';
import { answerOf, send } from './attempt.ts';
import type { ServiceResponse, ServiceCall } from './attempt.ts';
import { readExcerpt } from './body.ts';
import { PdfError } from './error.ts';

/** Reads the result of a call from an answer with a status below 300. */
export type AnswerReader<T> = (answer: ServiceResponse) => Promise<T>;

/**
 * Makes a call: repeats the request until an answer has been read, or the tries are used up.
 *
 * The retries are made here and not by got, which does not repeat streams, does not recognize a refused connection inside
 * another error, and waits for as long as `Retry-After` says.
 */
export async function perform<T>(call: ServiceCall, read: AnswerReader<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await send(call, attempt);
      if (answer.status >= 300) throw await httpError(answer);
      return await read(answer);
    } catch (error) {
      call.signal?.throwIfAborted();
      if (!(error instanceof PdfError)) throw error;
      error.attempts = attempt;
      const wait = waitBeforeNext(error, attempt, call);
      if (wait === undefined) throw error;
      call.settings.hooks.onRetry?.({ error, delay: toSeconds(wait), attempt });
      await pause(wait, call.signal);
    }
  }
}

async function httpError(response: ServiceResponse): Promise<PdfError> {
  const answer = answerOf(response, await readExcerpt(response));
  const { origin, pathname } = response.call.url;
  const begin = `The PDF service answered ${origin}${pathname} with ${answer.status}`;
  const said = answer.body.replaceAll(/\s+/g, ' ').trim().slice(0, 200);
  const end =
    answer.status < 400
      ? ', a redirect, which is not followed. Set baseUrl to the address of the service itself.'
      : said && `: ${said}`;
  return new PdfError('ERR_PDF_HTTP', begin + end, { response: answer });
}

/** The wait before the next try, in milliseconds; `undefined` when there is no further try. */
function waitBeforeNext(
  error: PdfError,
  attempt: number,
  { settings, payload }: ServiceCall,
): Milliseconds | undefined {
  const { retries, retryDelay, maxRetryDelay } = settings;
  if (attempt > retries || !payload.repeatable || !isTemporary(error)) return undefined;
  const backoff = Math.min(retryDelay * 2 ** (attempt - 1), maxRetryDelay) * (1 - Math.random() / 2);
  const asked = retryAfter(error.response?.headers['retry-after']);
  return asked > maxRetryDelay ? undefined : Math.round(Math.max(asked, backoff));
}

const TEMPORARY_CODES = new Set([...CONNECTION_ERRORS, 'EADDRINUSE', 'ERR_HTTP_CONTENT_LENGTH_MISMATCH']);

/** Whether the same request may succeed later. Both calls only read, so sending a request twice does no harm. */
function isTemporary({ code, cause, response }: PdfError): boolean {
  if (code === 'ERR_PDF_TIMEOUT') return true;
  if (code === 'ERR_PDF_CONNECTION') {
    return cause instanceof Error && 'code' in cause && TEMPORARY_CODES.has(String(cause.code));
  }
  if (code !== 'ERR_PDF_HTTP' || !response) return false;
  return [408, 425, 429].includes(response.status) || (response.status >= 500 && response.status !== 501);
}

/** The wait that `Retry-After` asks for, in milliseconds (RFC 9110 section 10.2.3); 0 without one. */
function retryAfter(field: string | undefined): Milliseconds {
  if (field === undefined) return 0;
  const milliseconds = /^\d+$/.test(field) ? toMilliseconds(Number(field)) : Date.parse(field) - Date.now();
  return milliseconds > 0 ? milliseconds : 0;
}

async function pause(milliseconds: Milliseconds, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(milliseconds, undefined, signal && { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

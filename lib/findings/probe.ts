import { toSeconds } from '../contracts/duration.ts';
import type { Milliseconds } from '../contracts/duration.ts';

/** The response to a probe, or the reason why there was none. */
export type ProbeResult =
  | {
      readonly status: number;
      readonly location: string | null;
      readonly cookies: readonly string[];
      readonly challenge: string | null;
      readonly body: string;
    }
  | { readonly failure: string };

const TIMEOUT: Milliseconds = 5000;

/** Requests a URL once, without following redirects. */
export async function probe(url: string, method = 'GET'): Promise<ProbeResult> {
  try {
    const response = await fetch(url, { method, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) });
    return {
      status: response.status,
      location: response.headers.get('location'),
      cookies: response.headers.getSetCookie(),
      challenge: response.headers.get('www-authenticate'),
      body: await response.text(),
    };
  } catch (error) {
    return { failure: failureReason(error) };
  }
}

/** The reason why `fetch` failed: the network error is the `cause` of its error, with a code such as `ECONNREFUSED`. */
function failureReason(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no answer within ${toSeconds(TIMEOUT)} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return error instanceof Error ? error.message : String(error);
}

/** The result of a probe, for the end of a sentence. */
export function describeProbe(answer: ProbeResult): string {
  return 'failure' in answer ? answer.failure : `the response was ${answer.status}`;
}

/** A JSON object that a server publishes. */
export type Document = Readonly<Record<string, unknown>>;

/** The JSON object in a response; `undefined` when the body is not a JSON object, or the response is not a success. */
export function documentOf(answer: ProbeResult): Document | undefined {
  return 'failure' in answer || answer.status !== 200 ? undefined : jsonIn(answer.body);
}

/** The JSON object in a body; `undefined` when the body is not a JSON object. */
export function jsonIn(body: string): Document | undefined {
  try {
    const document: unknown = JSON.parse(body);
    return typeof document === 'object' && document !== null ? { ...document } : undefined;
  } catch {
    return undefined;
  }
}

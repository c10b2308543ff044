/** What a web server answered, or why it did not. */
export type Answer =
  | {
      readonly status: number;
      readonly location: string | null;
      readonly cookies: readonly string[];
      readonly body: string;
    }
  | { readonly trouble: string };

// In milliseconds.
const PATIENCE = 5000;

/** Requests a URL once, for five seconds at most, and follows no redirect. */
export async function visit(url: string, method = 'GET'): Promise<Answer> {
  try {
    const response = await fetch(url, { method, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) });
    return {
      status: response.status,
      location: response.headers.get('location'),
      cookies: response.headers.getSetCookie(),
      body: await response.text(),
    };
  } catch (error) {
    return { trouble: reasonOf(error) };
  }
}

/** What is wrong with the network is the cause of what `fetch` throws, and its code says it best. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${PATIENCE / 1000} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return error instanceof Error ? error.message : String(error);
}

/** What came of a visit, at the end of a sentence. */
export function inWords(answer: Answer): string {
  return 'trouble' in answer ? answer.trouble : `the answer was ${answer.status}`;
}

import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';

/** A response with a JSON body. */
export interface JsonAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** Posts JSON of which the last part is missing. The function that is returned sends it, and resolves to the answer. */
export function postSlowly(
  url: string | URL,
  value: unknown,
  headers: Record<string, string>,
): () => Promise<JsonAnswer> {
  const body = Buffer.from(JSON.stringify(value));
  const outgoing = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
  });
  outgoing.write(body.subarray(0, 5));
  return async function finish() {
    outgoing.end(body.subarray(5));
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { headers: fields, statusCode: status } = response;
    return { status, headers: fields, body: (await json(response)) as Record<string, unknown> };
  };
}

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import type { PdfDocument } from 'koa-gatehouse/pdf';

import { serve } from '../../harness/serve.ts';

/** A received request. */
export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The part of the body that was read. */
  body: Buffer;
}

export type Reply = (request: IncomingMessage, response: ServerResponse, received: Received) => unknown;

/** A PDF service with the given responses, one after the other; the last one repeats. */
export interface FaultServer extends AsyncDisposable {
  readonly origin: string;
  readonly received: readonly Received[];
}

export async function faultServer(...replies: readonly Reply[]): Promise<FaultServer> {
  const received: Received[] = [];
  const { origin, [Symbol.asyncDispose]: dispose } = await serve(() => (request, response) => {
    const reply = replies[received.length] ?? replies.at(-1)!;
    const { headers, method, url } = request;
    const record: Received = { method, url, headers, body: Buffer.alloc(0) };
    received.push(record);
    // A client that disconnects does not fail the test.
    response.on('error', () => {});
    void reply(request, response, record);
  });
  return { origin, received, [Symbol.asyncDispose]: dispose };
}

/** Reads the request to its end and responds. */
export function answer(
  status: number,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Reply {
  return async (request, response, received) => {
    try {
      received.body = await buffer(request);
      response.writeHead(status, headers).end(body);
    } catch {
      // The client closed the request.
    }
  };
}

export function json(value: unknown, status = 200): Reply {
  return answer(status, JSON.stringify(value), { 'content-type': 'application/json' });
}

export const TREE: PdfDocument = {
  type: 'document',
  'number of pages': 1,
  kids: [{ type: 'paragraph', content: 'Hello' }],
};

/** The smallest PNG: one transparent pixel. */
export const PNG: Buffer<ArrayBuffer> = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const png: Reply = answer(200, PNG, { 'content-type': 'image/png' });

export interface ReceivedForm {
  readonly parts: number;
  /** The content type of the file. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** The received form, parsed by Node's own parser. */
export async function formOf({ body, headers }: Received): Promise<ReceivedForm> {
  const form = await new Response(new Uint8Array(body), {
    headers: { 'content-type': headers['content-type'] ?? '' },
  }).formData();
  const file = form.get('file') as File;
  const bytes = Buffer.from(await file.arrayBuffer());
  return { parts: [...form].length, name: file.name, type: file.type, bytes };
}

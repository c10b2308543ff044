import { randomUUID } from 'node:crypto';

import { openInput } from './input.ts';
import type { Source } from './sources.ts';

/** The body of a request, which may be sent more than once. */
export interface Payload extends Omit<Source, 'filename'> {
  readonly contentType: string;
}

/** Opens an input and makes the request body for it (spec section 4.7). */
export async function openPayload(
  input: unknown,
  options: { readonly localFiles: boolean },
): Promise<Payload> {
  const opened = await openInput(input, options);
  return 'url' in opened
    ? payloadOf('application/json', Buffer.from(JSON.stringify({ url: opened.url })))
    : multipart(opened.source);
}

/** A body in memory. */
export function payloadOf(contentType: string, body: Uint8Array): Payload {
  return {
    contentType,
    size: body.byteLength,
    repeatable: true,
    async *read() {
      yield body;
    },
    close: async () => {},
  };
}

/**
 * A form with one file, the part `file` (RFC 7578).
 *
 * It is no `FormData`: got sends that without a length, and Node ends the process when the file of a `Blob` in it changes.
 */
function multipart(source: Source): Payload {
  const boundary = `----koa-gatehouse-${randomUUID()}`;
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quotable(source.filename)}"\r\n` +
      `Content-Type: application/pdf\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    size: source.size === undefined ? undefined : head.byteLength + source.size + tail.byteLength,
    repeatable: source.repeatable,
    async *read() {
      yield head;
      yield* source.read();
      yield tail;
    },
    close: () => source.close(),
  };
}

/** The file name with quotes and control characters escaped as browsers do, so that it cannot end the header field. */
function quotable(filename: string | undefined): string {
  // eslint-disable-next-line no-control-regex -- these are the ones to escape
  return (filename || 'document.pdf').toWellFormed().replaceAll(/[\0-\x1f"\x7f]/g, percentEncode);
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

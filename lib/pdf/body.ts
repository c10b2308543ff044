import type { ServiceResponse } from './attempt.ts';
import { responseError } from './attempt.ts';

/** The body of an answer, with calls of `onDownloadProgress`. Throws a `PdfError` when it is larger than `maxResponseBytes`. */
export async function* limitedBody(answer: ServiceResponse): AsyncGenerator<Uint8Array> {
  const { attempt, call } = answer;
  const { maxResponseBytes } = call.settings;
  const total = lengthOf(answer);
  let transferred = 0;
  for await (const chunk of answer.body) {
    transferred += chunk.byteLength;
    if (transferred > maxResponseBytes) {
      throw responseError(answer, `is larger than ${maxResponseBytes} bytes, which maxResponseBytes allows`);
    }
    call.onDownloadProgress?.({ transferred, total, attempt });
    yield chunk;
  }
}

/** The length of the body in bytes, from `Content-Length`; `undefined` when it is not known. */
export function lengthOf({ headers }: ServiceResponse): number | undefined {
  const length = headers['content-length'];
  // The length of a compressed answer is not that of the uncompressed body.
  return length === undefined || 'content-encoding' in headers ? undefined : Number(length);
}

// Twice the part that an error shows, so that an API key at its end is read completely and can be blanked out.
const EXCERPT = 32 * 1024;

/** The beginning of the body, for an error; shorter when the connection is cut. */
export async function readExcerpt({ body }: ServiceResponse): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size >= EXCERPT) break;
    }
  } catch {
    // The caller reports its own error; a cut body only shortens the excerpt.
  }
  return Buffer.concat(chunks);
}

import type { Answer } from './attempt.ts';
import { collect, limited } from './body.ts';
import type { PdfDocument } from './tree.ts';
import { unusable } from './attempt.ts';

/** Reads the tree of a PDF. */
export async function takeDocument(answer: Answer): Promise<PdfDocument> {
  const body = await collect(limited(answer));
  if (body.byteLength === 0) throw unusable(answer, 'is empty');
  const value = parse(body);
  if (value === undefined) throw unusable(answer, 'is not JSON', body);
  if (!isTree(value)) throw unusable(answer, 'is JSON, but not the tree of a PDF', body);
  return value;
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    return undefined;
  }
}

/** No more is asked of it: which fields a node has depends on the PDF (spec section 2.7). */
function isTree(value: unknown): value is PdfDocument {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !('kids' in value) || Array.isArray(value.kids);
}

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

import type { Context } from 'koa';

/** The bytes of a response. All responses with this content share them, so that one more costs no memory. */
export interface Content {
  readonly bytes: Buffer;
  readonly etag: string;
  /** The content coding (RFC 9110 section 8.4.1). `undefined`: as it is */
  readonly coding?: Coding | undefined;
}

type Coding = 'br' | 'gzip';

export function contentOf(text: string): Content {
  const bytes = Buffer.from(text);
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

/** Answers with a content, or with 304 when the client has it. Its media type and cache headers are the caller's. */
export function sendContent(ctx: Context, { bytes, coding, etag }: Content): void {
  ctx.set('ETag', etag);
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  if (coding !== undefined) ctx.set('Content-Encoding', coding);
  ctx.body = bytes;
}

const gzipped = promisify(gzip);
const brotlied = promisify(brotliCompress);

// The best of Brotli takes forty times as long, and saves another tenth.
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const COMPRESS: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: async (bytes) => brotlied(bytes, BROTLI),
  gzip: async (bytes) => gzipped(bytes),
};

const CODINGS = ['br', 'gzip'] as const;

/**
 * Makes the function that finds the content of a file for a request, compressed for clients that accept it (RFC 9110 section 12.5.3).
 * The file is read, and compressed in another thread, when it is first asked for: few processes serve it.
 */
export function compressible(read: () => string): (ctx: Context) => Promise<Content> {
  const made = new Map<Coding | undefined, Promise<Content>>();

  async function make(coding: Coding | undefined): Promise<Content> {
    if (coding === undefined) return contentOf(read());
    const { bytes, etag } = await find(undefined);
    // A strong ETag is that of one sequence of bytes (RFC 9110 section 8.8.3.3).
    return { bytes: await COMPRESS[coding](bytes), etag: `${etag.slice(0, -1)}-${coding}"`, coding };
  }

  function find(coding: Coding | undefined): Promise<Content> {
    const known = made.get(coding) ?? make(coding);
    made.set(coding, known);
    return known;
  }

  return async function findContent(ctx) {
    ctx.vary('Accept-Encoding');
    return find(CODINGS.find((coding) => ctx.acceptsEncodings(coding) === coding));
  };
}

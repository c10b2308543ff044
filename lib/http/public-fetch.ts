import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import { toSeconds } from '../contracts/duration.ts';
import type { Seconds } from '../contracts/duration.ts';
import { parseIJson } from './json.ts';
import { createPlaces } from './places.ts';
import { checkUrl, INTERNET, PublicFetchError, sendPublic } from './public-request.ts';
import type { Network } from './public-request.ts';

/**
 * Gets a JSON document from a URL that a stranger chose, see {@link sendPublic}.
 *
 * @throws PublicFetchError for everything that can go wrong
 */
export type PublicFetch = (
  url: string,
  options: {
    /** The largest accepted size of the document. */
    readonly maxBytes: number;
  },
) => Promise<PublicDocument>;

/** A JSON document of a public URL. */
export interface PublicDocument {
  /** I-JSON (RFC 7493), see `checkJson`. */
  readonly value: unknown;
  /** How many seconds it stays fresh (RFC 9111 section 4.2). `undefined`: the response does not say. */
  readonly maxAge: Seconds | undefined;
}

/** The limits of a {@link PublicFetch}. */
export const FETCHING = {
  /** How long a document may take in total, in milliseconds: resolving, connecting and reading. */
  timeout: 5000,
  maxRunning: 32,
  /** The same per origin (RFC 6454). */
  maxRunningPerOrigin: 2,
};

/** @param given - but for `loopback`, for tests; no option and no environment variable replaces it */
export function createPublicFetch(given: Partial<Network> = {}, limits = FETCHING): PublicFetch {
  const network = { ...INTERNET, ...given };
  const takePlaces = createPlaces();

  return async function publicFetch(text, { maxBytes }) {
    const url = checkUrl(text, network);
    const leavePlaces = takePlaces([
      { id: 'all', limit: limits.maxRunning },
      { id: url.origin, limit: limits.maxRunningPerOrigin },
    ]);
    if (!leavePlaces) throw new PublicFetchError('busy');
    try {
      return await sendPublic(
        url,
        { headers: { Accept: 'application/json' } },
        { network, timeout: network.timeout ?? limits.timeout },
        async (response) => {
          checkHead(response);
          const bytes = await read(response, maxBytes);
          return { value: parse(bytes), maxAge: freshness(response.headers) };
        },
      );
    } finally {
      leavePlaces();
    }
  };
}

const JSON_TYPE = /^application\/(?:[\w!#$&^.-]+\+)?json\s*(?:;|$)/i;

function checkHead({ headers, statusCode: status = 0 }: IncomingMessage): void {
  if (status >= 300 && status < 400) throw new PublicFetchError('redirect', { status });
  if (status !== 200) throw new PublicFetchError('status', { status });
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  if (!JSON_TYPE.test(type)) throw new PublicFetchError('content_type');
  // Not asked for; so that no decompression is needed, whose result can be a thousand times as large.
  if (encoding.toLowerCase() !== 'identity') throw new PublicFetchError('content_encoding');
}

async function read(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw new PublicFetchError('too_large');
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new PublicFetchError('too_large');
      chunks.push(chunk);
    }
  } catch (cause) {
    throw cause instanceof PublicFetchError ? cause : new PublicFetchError('connection', { cause });
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  try {
    return parseIJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new PublicFetchError('not_json', { cause });
  }
}

/** The freshness lifetime of a response that has just arrived (RFC 9111 section 4.2.1), less its age. */
function freshness(headers: IncomingHttpHeaders): Seconds | undefined {
  const control = headers['cache-control'] ?? '';
  if (/(?:^|,)\s*no-(?:store|cache)\s*(?:,|$)/i.test(control)) return 0;
  const [, seconds] = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,10})/i.exec(control) ?? [];
  if (seconds !== undefined) {
    const age = /^\d{1,10}$/.test(headers.age ?? '') ? Number(headers.age) : 0;
    return Math.max(0, Number(seconds) - age);
  }
  if (headers.expires === undefined) return undefined;
  const lifetime = toSeconds(Date.parse(headers.expires) - Date.parse(headers.date ?? ''));
  return Number.isFinite(lifetime) ? Math.max(0, Math.floor(lifetime)) : 0;
}

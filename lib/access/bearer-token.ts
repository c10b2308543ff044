import type { IncomingMessage } from 'node:http';

import { REFUSALS } from './challenge.ts';
import type { Refusal } from './challenge.ts';

/**
 * Reads the token of a request: from the `Authorization` header field, the one place that RFC 9700 section 4.3.2
 * leaves. Bodies are not looked at: an `access_token` in one is the API's own business.
 *
 * Runs for every request, so it does only what a remembered token needs; {@link isCompactJws} is for the others.
 */
export function readBearerToken(request: IncomingMessage): string | Refusal {
  const header = request.headers.authorization;
  const inUrl = IN_URL.test(request.url ?? '');
  if (header === undefined) return inUrl ? REFUSALS.misplaced : REFUSALS.missing;
  if (!header.startsWith('Bearer ') && !BEARER.test(header)) return REFUSALS.missing;
  if (inUrl) return REFUSALS.misplaced;
  if (isRepeated(request.rawHeaders)) return REFUSALS.repeated;
  return header.slice('Bearer '.length);
}

// The scheme is case-insensitive (RFC 9110 section 11.1). Without anything behind it, it is still a malformed Bearer.
const BEARER = /^bearer(?: |$)/i;

// Refused next to a good header too: it is in the logs of every server on the way.
const IN_URL = /[?&]access_token=/;

// Node keeps the first of several Authorization fields and drops the rest, a proxy in front may have looked at the last.
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}

/** The most characters of a token that are looked at; those of this server have about 700. */
const LONGEST_TOKEN = 8192;

// RFC 7515 section 7.1. The signature must be canonical (RFC 4648 section 3.5): of the bits in its last character, those
// that encode nothing are zero, or a token with that character changed would still be good. Linear on any input.
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Tells whether a token is worth a signature check: it has the form of one of ours, and a sane size. */
export function isCompactJws(token: string): boolean {
  return token.length <= LONGEST_TOKEN && COMPACT_JWS.test(token);
}

import type { FieldErrorCode, FieldErrorParameters } from '../errors.ts';

/** What is wrong, as for `fieldError()`. */
export type Mistake = readonly [code: FieldErrorCode, parameters?: FieldErrorParameters];

const LONGEST = 2000;

// A private-use scheme is a reversed domain name (RFC 8252 section 7.1), which keeps `javascript:` and its kin out.
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;

/**
 * Says what is wrong with a redirect URI, or nothing when it can be registered (RFC 6749 section 3.1.2, RFC 9700
 * sections 2.1 and 2.6, RFC 8252 section 7).
 */
export function redirectUriMistake(uri: unknown, { native }: { native: boolean }): Mistake | undefined {
  if (typeof uri !== 'string' || uri === '') return ['uri_empty'];
  if (uri.length > LONGEST) return ['uri_length', { most: LONGEST }];
  if (/[^\x21-\x7e]/.test(uri)) return ['uri_characters'];
  const url = URL.parse(uri);
  if (!url) return ['uri_relative'];
  if (uri.includes('#')) return ['uri_fragment'];
  if (uri.includes('*')) return ['uri_wildcard'];
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) {
    return ['uri_credentials'];
  }
  if (url.protocol === 'https:' || url.protocol === 'http:') {
    if (!/^https?:\/\/[^/\\]/.test(uri)) return ['uri_form'];
    return native ? nativeWebMistake(url) : webMistake(url);
  }
  if (!native) return ['uri_scheme'];
  return PRIVATE_USE_SCHEME.test(url.protocol) ? undefined : ['uri_private_scheme'];
}

// Codes that travel over http can be read on the way. Loopback addresses never leave the machine.
function webMistake({ protocol, hostname }: URL): Mistake | undefined {
  return protocol === 'http:' && !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
    ? ['uri_insecure']
    : undefined;
}

// The engine has these rules too, and would refuse every request of a client that does not keep them.
function nativeWebMistake({ protocol, hostname }: URL): Mistake | undefined {
  const isLoopback = LOOPBACK.has(hostname);
  if (protocol === 'http:' && !isLoopback) return ['uri_http_host'];
  if (protocol === 'https:' && isLoopback) return ['uri_https_loopback'];
  return undefined;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

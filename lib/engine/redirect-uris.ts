// A private-use scheme is a reversed domain name (RFC 8252 section 7.1), which keeps `javascript:` and its kin out.
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;

/**
 * Says what is wrong with a redirect URI, or nothing when it can be registered (RFC 6749 section 3.1.2, RFC 9700
 * section 2.1, RFC 8252 section 7).
 */
export function redirectUriMistake(uri: unknown, { native }: { native: boolean }): string | undefined {
  if (typeof uri !== 'string' || uri === '') return 'give a URI';
  if (uri.length > 2000) return 'at most 2000 characters';
  if (/[^\x21-\x7e]/.test(uri))
    return 'no spaces, control characters or letters outside of ASCII; encode them';
  const url = URL.parse(uri);
  if (!url) return 'give an absolute URI, such as https://app.example/callback';
  if (uri.includes('#')) return 'a redirect URI has no fragment (RFC 6749 section 3.1.2)';
  if (uri.includes('*')) return 'wildcards are not matched; register each URI (RFC 9700 section 2.1)';
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) {
    return 'no user name or password';
  }
  if (url.protocol === 'https:' || url.protocol === 'http:') {
    if (!/^https?:\/\/[^/\\]/.test(uri)) return 'write it as https://host/path';
    return native ? nativeWebMistake(url) : undefined;
  }
  if (!native) return 'use https (or http); other schemes are for native apps';
  return PRIVATE_USE_SCHEME.test(url.protocol)
    ? undefined
    : 'a scheme of your own is a reversed domain name, such as com.example.app:/callback (RFC 8252 section 7.1)';
}

// The engine has these rules too, and would refuse every request of a client that does not keep them.
function nativeWebMistake({ protocol, hostname }: URL): string | undefined {
  const isLoopback = LOOPBACK.has(hostname);
  if (protocol === 'http:' && !isLoopback)
    return 'a native app uses http on 127.0.0.1, [::1] or localhost only (RFC 8252 section 7.3)';
  if (protocol === 'https:' && isLoopback) return 'use http on a loopback address (RFC 8252 section 7.3)';
  return undefined;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

import type { AccessTokenClaims } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';

/** Names that a claim of the host may not have, because readers of tokens or introspection responses give them a meaning. */
const RESERVED: ReadonlySet<string> = new Set<string>([
  // Claims of this server. The guard refuses a token without them.
  ...'principal grant_id revocation_sequence limited'.split(' '),
  // RFC 7519 section 4.1, RFC 9068 section 2.2
  ...'iss sub aud exp nbf iat jti client_id scope auth_time acr amr'.split(' '),
  // RFC 7800, RFC 8693 section 4, RFC 9396 section 9.1
  ...'cnf act may_act authorization_details'.split(' '),
  // RFC 7662 section 2.2
  ...'active token_type username'.split(' '),
]);

/** Checks what the option `tokens.claims` has returned. @throws ConfigError */
export function checkTokenClaims(claims: unknown): object | undefined {
  if (claims === undefined) return undefined;
  if (Object.prototype.toString.call(claims) !== '[object Object]') {
    throw new ConfigError('tokens.claims', "return an object such as { tenant: 'north' }, or undefined");
  }
  const reserved = Object.keys(claims as object).filter((name) => RESERVED.has(name));
  if (reserved.length > 0) {
    throw new ConfigError(
      'tokens.claims',
      `leave out ${reserved.join(', ')}: these claim names are reserved for the server and the standards; choose others, such as a URL of yours`,
    );
  }
  try {
    // A copy in the form that the token will have, so that the host cannot change the object later.
    return JSON.parse(JSON.stringify(claims)) as object;
  } catch (cause) {
    throw new ConfigError(
      'tokens.claims',
      `return a value that can be written as JSON: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** The claims that the host added to a verified token. */
export function hostClaimsOf(claims: AccessTokenClaims): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !RESERVED.has(name)));
}

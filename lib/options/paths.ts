/** The options that are URLs and paths of the server. */
import { isLoopback } from '../contracts/loopback.ts';
import { ConfigError } from '../errors.ts';
import type { Check } from './declare.ts';

/** Without a slash at its end. */
export const issuerUrl: Check<string> = (place, given) => {
  const example = 'such as https://platform.example';
  const url = typeof given === 'string' ? URL.parse(given) : null;
  // `localhost:3000` has the protocol `localhost:`.
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(place, `give the server's base URL as a string, ${example}${mistakeIn(given)}`);
  }
  if (url.search || url.hash || url.username || url.password || /[?#]/.test(given)) {
    throw new ConfigError(
      place,
      `leave out query, fragment and credentials (RFC 8414 section 2), ${example}`,
    );
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigError(
      place,
      `use https; http is accepted for loopback addresses only, not for ${url.host}`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
};

/** What is wrong with what was given instead of a URL of the web. */
function mistakeIn(given: unknown): string {
  if (given === undefined)
    return '; it is undefined: is the variable of the environment that it is read from set?';
  if (typeof given !== 'string' || given.includes('://')) return '';
  const url = URL.parse(`https://${given}`);
  const scheme = url && isLoopback(url.hostname) ? 'http' : 'https';
  return url ? `; ${given} has no scheme: write ${scheme}://${given}` : '';
}

/** Without a slash at its end. */
export const mountPath: Check<string> = (place, given) => {
  if (typeof given === 'string' && URL.parse(given, 'http://localhost')?.pathname === given) {
    return given.replace(/\/+$/, '');
  }
  throw new ConfigError(
    place,
    "give a path that starts with a slash, such as '/auth', or '/' when a proxy removes the issuer's path",
  );
};

/** `undefined` when there is no such page. */
export const pagePath: Check<string | false, string | undefined> = (place, given) => {
  if (given === false) return undefined;
  if (
    typeof given === 'string' &&
    /^(\/[\w.~-]+)+$/.test(given) &&
    !/\/\.\.?(\/|$)/.test(given) &&
    !/^\/(oauth|\.well-known)(\/|$)/i.test(given)
  ) {
    return given;
  }
  throw new ConfigError(
    place,
    "give a path such as '/account/apps', outside /oauth and /.well-known and without a trailing slash, or false",
  );
};

export const loginUrl: Check<string> = (place, given) => {
  const isPathOrUrl = typeof given === 'string' && /^(\/|https?:)/i.test(given);
  if (isPathOrUrl && URL.canParse(given, 'http://localhost')) return given;
  throw new ConfigError(place, "give a path or URL of the host's login page, such as '/login'");
};

/** One check per option: each returns the value to use, or throws a `ConfigError` that names the option and the remedy. */
import type { Gate, Logger } from '../contracts/index.ts';
import { parseDuration } from '../contracts/duration.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { ConfigError } from '../errors.ts';
import { checkKnownOptions } from './known-options.ts';
import { stderrLogger } from './stderr-logger.ts';
import type { LifetimePreset, Lifetimes, Scope, SigningAlgorithm } from './options.ts';
import type { ResolvedOptions } from './resolved-options.ts';

const YEAR = 31_536_000;
const DAY = 86_400;
const PRESETS = {
  long: {
    accessToken: YEAR,
    refreshToken: YEAR,
    refreshTokenAbsolute: 5 * YEAR,
    authorizationCode: 60,
    session: 14 * DAY,
    sessionAbsolute: 90 * DAY,
    interaction: 3600,
  },
  short: {
    accessToken: 3600,
    refreshToken: 30 * DAY,
    refreshTokenAbsolute: YEAR,
    authorizationCode: 60,
    session: 14 * DAY,
    sessionAbsolute: 30 * DAY,
    interaction: 3600,
  },
} as const;

export function checkIssuer(
  issuer: unknown,
): Pick<ResolvedOptions, 'issuer' | 'origin' | 'basePath' | 'secure'> {
  const example = 'such as https://platform.example';
  const url = typeof issuer === 'string' ? URL.parse(issuer) : null;
  // `localhost:3000` has the protocol `localhost:`.
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError('issuer', `give the server's base URL as a string, ${example}`);
  }
  if (url.search || url.hash || url.username || url.password || /[?#]/.test(issuer as string)) {
    throw new ConfigError(
      'issuer',
      `leave out query, fragment and credentials (RFC 8414 section 2), ${example}`,
    );
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigError(
      'issuer',
      `use https; http is accepted for loopback addresses only, not for ${url.host}`,
    );
  }
  const basePath = url.pathname.replace(/\/+$/, '');
  return { issuer: url.origin + basePath, origin: url.origin, basePath, secure: url.protocol === 'https:' };
}

export function checkMountPath(mountPath: unknown, basePath: string): string {
  if (mountPath === undefined) return basePath;
  if (typeof mountPath !== 'string' || URL.parse(mountPath, 'http://localhost')?.pathname !== mountPath) {
    throw new ConfigError(
      'mountPath',
      "give a path that starts with a slash, such as '/auth', or '/' when a proxy removes the issuer's path",
    );
  }
  return mountPath.replace(/\/+$/, '');
}

export function checkPagePath(option: string, path: unknown): string | undefined {
  if (path === false) return undefined;
  if (
    typeof path !== 'string' ||
    !/^(\/[\w.~-]+)+$/.test(path) ||
    /\/\.\.?(\/|$)/.test(path) ||
    /^\/(oauth|\.well-known)(\/|$)/i.test(path)
  ) {
    throw new ConfigError(
      option,
      "give a path such as '/account/apps', outside /oauth and /.well-known and without a trailing slash, or false",
    );
  }
  return path;
}

export function checkLoginUrl(
  loginUrl: unknown,
  issuer: string,
  hasCurrentUser: boolean,
): string | undefined {
  if (loginUrl === undefined) return undefined;
  const isPathOrUrl = typeof loginUrl === 'string' && /^(\/|https?:)/i.test(loginUrl);
  const url = isPathOrUrl ? URL.parse(loginUrl, issuer) : null;
  if (!url) {
    throw new ConfigError('loginUrl', "give a path or URL of the host's login page, such as '/login'");
  }
  if (!hasCurrentUser) {
    throw new ConfigError(
      'loginUrl',
      'also pass currentUser, which returns the user who has logged in there',
    );
  }
  return url.href;
}

/** @param place - the option's name in errors */
export function checkScopes<P extends string>(
  place: string,
  scopes: Readonly<Record<string, Scope<P>>>,
  gate: Gate<P>,
): ReadonlyMap<string, Scope<P>> {
  if (!isLiteral(scopes)) {
    throw new ConfigError(
      place,
      "give an object with the scopes by name, such as { 'schools:read': { description, permissions } }",
    );
  }
  for (const [name, scope] of Object.entries(scopes)) {
    const option = `${place}.${name}`;
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(name)) {
      throw new ConfigError(
        option,
        'a scope name has no spaces, quotes or backslashes (RFC 6749 section 3.3)',
      );
    }
    if (name === 'openid' || name === 'offline_access') {
      throw new ConfigError(
        option,
        'this name belongs to OpenID Connect, whose tokens this server does not issue; every authorization-code client gets a refresh token without it',
      );
    }
    if (typeof scope?.description !== 'string' || scope.description.trim() === '') {
      throw new ConfigError(
        `${option}.description`,
        'describe in a sentence what users agree to, such as "See your schools"',
      );
    }
    checkKnownOptions(scope, { description: true, permissions: true, optional: true }, option);
    if (scope.optional !== undefined && typeof scope.optional !== 'boolean') {
      throw new ConfigError(
        `${option}.optional`,
        'give true to let users decline the scope on the consent page, or leave it out',
      );
    }
    if (!Array.isArray(scope.permissions)) {
      throw new ConfigError(
        `${option}.permissions`,
        'list the permissions that a token with this scope is limited to',
      );
    }
    for (const permission of scope.permissions) {
      if (!gate.has(permission)) {
        throw new ConfigError(`${option}.permissions`, `"${permission}" is not a permission of the gate`);
      }
    }
  }
  return new Map(Object.entries(scopes));
}

export function checkLifetimes(lifetimes: LifetimePreset | Lifetimes): ResolvedOptions['lifetimes'] {
  if (typeof lifetimes !== 'string' && !isLiteral(lifetimes)) {
    throw new ConfigError(
      'lifetimes',
      "give a preset, long or short, or single lifetimes such as { accessToken: '1 hour' }",
    );
  }
  const { preset = 'long', ...own } = typeof lifetimes === 'string' ? { preset: lifetimes } : lifetimes;
  if (!Object.hasOwn(PRESETS, preset)) {
    throw new ConfigError(
      'lifetimes',
      `the presets are ${Object.keys(PRESETS).join(' and ')}, not ${preset}`,
    );
  }
  const resolved: Record<string, number> = { ...PRESETS[preset] };
  for (const [name, duration] of Object.entries(own)) {
    if (!Object.hasOwn(resolved, name)) {
      throw new ConfigError(
        `lifetimes.${name}`,
        `there is no such lifetime; the lifetimes are ${Object.keys(resolved).join(', ')}`,
      );
    }
    if (duration !== undefined) resolved[name] = checkDuration(`lifetimes.${name}`, duration, 1);
  }
  if (resolved['authorizationCode']! > 600) {
    throw new ConfigError(
      'lifetimes.authorizationCode',
      'a code lives 10 minutes at most (RFC 6749 section 4.1.2)',
    );
  }
  for (const name of ['session', 'refreshToken'] as const) {
    const absolute = `${name}Absolute` as const;
    if (resolved[absolute]! >= resolved[name]!) continue;
    if (own[absolute] !== undefined)
      throw new ConfigError(`lifetimes.${absolute}`, `give at least lifetimes.${name}`);
    resolved[absolute] = resolved[name]!;
  }
  return Object.freeze(resolved);
}

export function checkDuration(option: string, duration: unknown, least: number): number {
  const seconds = parseDuration(duration);
  if (seconds === undefined || seconds < least) {
    throw new ConfigError(
      option,
      `give seconds, or a number and a unit such as '1 hour' or '30 days'; at least ${least} s`,
    );
  }
  return seconds;
}

export function checkCount(option: string, count: unknown): number {
  if (Number.isSafeInteger(count) && Number(count) >= 0) return Number(count);
  throw new ConfigError(option, 'give a whole number, such as 1000, or 0 for any number');
}

export function checkPositiveInteger(option: string, value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value);
  throw new ConfigError(option, 'give a whole number from 1 up, such as 10000');
}

export function checkAlgorithm(algorithm: unknown): SigningAlgorithm {
  if (algorithm === 'ES256' || algorithm === 'RS256' || algorithm === 'EdDSA') return algorithm;
  throw new ConfigError('signingAlgorithm', 'choose ES256, RS256 or EdDSA');
}

export function checkSecrets(option: string, secrets: unknown): readonly string[] {
  if (!Array.isArray(secrets) || secrets.length === 0 || !secrets.every(isSecret)) {
    throw new ConfigError(option, 'give random strings of at least 32 characters, newest first');
  }
  return Object.freeze([...(secrets as string[])]);
}

function isSecret(secret: unknown): boolean {
  return typeof secret === 'string' && secret.length >= 32;
}

export function checkLogger(logger: unknown): Logger {
  if (logger === undefined) return stderrLogger;
  for (const level of ['debug', 'info', 'warn', 'error']) {
    if (typeof (logger as Record<string, unknown> | null)?.[level] !== 'function') {
      throw new ConfigError(
        'logger',
        `pass an object with debug, info, warn and error, as pino has; ${level} is missing`,
      );
    }
  }
  return safeLogger(logger as Logger);
}

/** Whether a value is an object such as `{ ... }`, and not an array, a Map or a function. */
export function isLiteral(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object Object]';
}

export function checkNames(option: string, names: unknown): readonly string[] {
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string' && name.trim() !== '')) {
    throw new ConfigError(option, "list the names as strings, such as ['Acme Mail']");
  }
  return Object.freeze([...(names as string[])]);
}

/** Wraps a logger so that its errors are ignored: a full disk under the log must not fail requests. */
function safeLogger(logger: Logger): Logger {
  const safe = (level: keyof Logger) =>
    function write(fields: object, message: string): void {
      try {
        logger[level](fields, message);
      } catch {
        // The failed logger is the only place where the error could be reported.
      }
    };
  return { debug: safe('debug'), info: safe('info'), warn: safe('warn'), error: safe('error') };
}

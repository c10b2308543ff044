// `hash` through the default export, as in lib/keys/hash.ts.
import crypto from 'node:crypto';

import { ConfigError } from '../errors.ts';
import { checkDuration, checkNames, checkPositiveInteger, checkSecrets } from './checks.ts';
import { checkKnownOptions } from './known-options.ts';
import type { DynamicRegistrationOptions, ResolvedRegistration } from './registration-options.ts';
import { checkFunction } from './values.ts';

const OPTION = 'dynamicRegistration';
const HOUR = 3600;
const DAY = 24 * HOUR;

const MEMBERS: Readonly<Record<keyof DynamicRegistrationOptions, true>> = {
  scopes: true,
  defaultScopes: true,
  initialAccessTokens: true,
  allow: true,
  maxClients: true,
  perAddress: true,
  unauthorizedAfter: true,
  unusedAfter: true,
};

/** @param known - the scopes of all APIs */
export function checkRegistration(
  given: DynamicRegistrationOptions | undefined,
  known: ReadonlyMap<string, unknown>,
): ResolvedRegistration | undefined {
  if (given === undefined) return undefined;
  const {
    defaultScopes = [],
    initialAccessTokens,
    maxClients = 1000,
    perAddress = 20,
    scopes,
    unauthorizedAfter = DAY,
    unusedAfter = 90 * DAY,
  } = checkKnownOptions(given, MEMBERS, OPTION);
  if (scopes === undefined) {
    throw new ConfigError(`${OPTION}.scopes`, 'list the scopes that an app may register for; [] for none');
  }
  const allowed = checkScopes('scopes', scopes, [...known.keys()], 'of the server');
  return Object.freeze({
    scopes: allowed,
    defaultScopes: checkScopes('defaultScopes', defaultScopes, allowed, `of ${OPTION}.scopes`),
    initialAccessTokenHashes: initialAccessTokens && hashesOf(initialAccessTokens),
    allow: checkFunction(`${OPTION}.allow`, given.allow),
    maxClients: checkPositiveInteger(`${OPTION}.maxClients`, maxClients),
    perAddress: checkPositiveInteger(`${OPTION}.perAddress`, perAddress),
    unauthorizedAfter: checkDuration(`${OPTION}.unauthorizedAfter`, unauthorizedAfter, HOUR),
    unusedAfter: checkDuration(`${OPTION}.unusedAfter`, unusedAfter, DAY),
  });
}

function checkScopes(
  member: string,
  given: unknown,
  known: readonly string[],
  whose: string,
): readonly string[] {
  const scopes = [...new Set(checkNames(`${OPTION}.${member}`, given))];
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown === undefined) return Object.freeze(scopes);
  throw new ConfigError(`${OPTION}.${member}`, `"${unknown}" is not a scope ${whose}`);
}

function hashesOf(tokens: readonly string[]): readonly string[] {
  const checked = checkSecrets(`${OPTION}.initialAccessTokens`, tokens);
  return Object.freeze(checked.map((token) => crypto.hash('sha256', token, 'base64url')));
}

import { checkClientKeys } from '../../clients/public-keys.ts';
import type { ClientKeys } from '../../contracts/index.ts';
import { isLoopback } from '../../contracts/loopback.ts';
import { ConfigError } from '../../errors.ts';
import { isObject, optional, readOptions } from '../../options/declare.ts';
import type { Check, Given } from '../../options/declare.ts';
import { scopeNames } from '../../options/scopes.ts';
import { boolean, fn, list, oneOf } from '../../options/values.ts';
import { rules } from './rules.ts';
import type { FindAssertedUser } from './types.ts';

const keys: Check<string | { readonly keys: readonly object[] }, ClientKeys> = (place, given) => {
  const found = checkClientKeys(typeof given === 'string' ? { jwksUri: given } : { jwks: given });
  if ('checked' in found && found.checked) return found.checked;
  throw new ConfigError(place, 'pass a JWK Set with public keys, or the https URL of one');
};

const scopes: typeof scopeNames = (place, given) => {
  const names = scopeNames(place, given);
  if (names.length > 0) return names;
  throw new ConfigError(place, 'list at least one scope: without a scope, an assertion gives nothing');
};

const profile = oneOf('id-jag', 'workload');

/** What is trusted of every issuer. */
const OF_ANY = {
  /**
   * The issuer's public keys: a JWK Set, or the https URL of one. @default the `jwks_uri` of its metadata (RFC 8414, or else OpenID Connect
   * Discovery)
   */
  keys: optional(keys),
  /** Whether the `aud` of its assertions may have a slash after the issuer of this server. @default false */
  finalSlash: optional(boolean, false),
  /** Whether its URL may be http on loopback, for trials. @default false */
  loopback: optional(boolean, false),
};

export const ID_JAG = {
  /** What the issuer asserts: which users have allowed which apps (draft-ietf-oauth-identity-assertion-authz-grant). */
  profile: profile as Check<'id-jag'>,
  ...OF_ANY,
  /** The scopes that its assertions can give at most. */
  scopes,
  /** The tenants for whose users it speaks here. @default none: an assertion with a `tenant` is refused */
  tenants: optional(list("list the tenants, such as ['f2b9…']", (tenant) => tenant !== '', 1)),
  /**
   * Finds the user of an assertion, or creates one: by its `iss`, `tenant` and `sub`, never by a mail address alone, which the issuer may
   * not have verified.
   */
  findUser: fn<FindAssertedUser>('pass a function that finds the user of an assertion'),
};

export const WORKLOAD = {
  /** What the issuer asserts: which of its workloads, such as a job of a CI, presents the assertion. */
  profile: profile as Check<'workload'>,
  ...OF_ANY,
  /** Which workloads speak for which clients. */
  rules,
  /**
   * Whether each assertion is used once, on all nodes. `false` is for issuers that give a workload one assertion for an hour, such as
   * Kubernetes. @default true
   */
  once: optional(boolean, true),
};

/** An identity provider that decides for its users which apps may act for them (ID-JAG). */
export interface IdJagIssuer extends Given<typeof ID_JAG> {}

/** An issuer whose workloads, such as the jobs of a CI, get tokens of clients without a secret. */
export interface WorkloadIssuer extends Given<typeof WORKLOAD> {}

/** The options of {@link trustedIssuers}: issuers by their URL, which is compared with `iss` as a whole string. */
export type TrustedIssuerOptions = Readonly<Record<string, IdJagIssuer | WorkloadIssuer>>;

type Settings<D extends object> = ReturnType<typeof readOptions<D>> & { readonly issuer: string };
export type IdJagSettings = Settings<typeof ID_JAG>;
export type WorkloadSettings = Settings<typeof WORKLOAD>;

/** The issuers with their options, complete, by URL. */
export type Issuers = ReadonlyMap<string, IdJagSettings | WorkloadSettings>;

/** @throws ConfigError for a wrong option */
export function readIssuers(options: TrustedIssuerOptions): Issuers {
  if (!isObject(options))
    throw new ConfigError(
      'trustedIssuers()',
      "pass an object such as { 'https://idp.example': { profile } }",
    );
  return new Map(
    Object.entries(options).map(([issuer, given]) => {
      const place = `trustedIssuers()['${issuer}']`;
      const settings =
        Object(given).profile === 'workload'
          ? readOptions(WORKLOAD, given as WorkloadIssuer, place)
          : readOptions(ID_JAG, given as IdJagIssuer, place);
      checkIssuer(place, issuer, settings);
      return [issuer, { ...settings, issuer }];
    }),
  );
}

/** @throws ConfigError for a URL that no issuer has (RFC 8414 section 2) */
function checkIssuer(place: string, issuer: string, { loopback }: { readonly loopback: boolean }): void {
  const url = URL.parse(issuer);
  const isOnLoopback = loopback && url?.protocol === 'http:' && isLoopback(url.hostname);
  if (url && (url.protocol === 'https:' || isOnLoopback) && !/[?#*@\s]/.test(issuer)) return;
  throw new ConfigError(place, 'name the issuer by its https URL, as its assertions have it in iss');
}

import type { Added, Feature } from '../feature.ts';
import { TRUSTED_ISSUER_EVENTS } from './events.ts';
import { readIssuers } from './options.ts';
import type { TrustedIssuerOptions } from './options.ts';
import { JWT_BEARER } from './types.ts';

/**
 * Issuers whose assertions get access tokens (RFC 7521, RFC 7523): the identity provider of an organization decides for its users which apps
 * may act for them (ID-JAG), and the jobs of a CI get tokens of a client without a secret. An issuer decides again each time: there are no
 * refresh tokens. When an issuer, or the feature, is removed, its tokens are refused.
 *
 *     createAuthServer({ …, features: [trustedIssuers({
 *       'https://idp.district.example': { profile: 'id-jag', scopes: ['schools:read'], findUser },
 *       'https://ci.example': { profile: 'workload', rules: [{ client: id, match: { sub: 'repo:acme/app:ref:refs/heads/main' } }] },
 *     })] })
 *
 * @throws ConfigError for a wrong option
 */
export function trustedIssuers(options: TrustedIssuerOptions = {}): Feature<{
  // Written out, so that a host that emits declarations needs no name for it.
  readonly trustedIssuers: {
    /**
     * Lets an app act for a user again by the word of an issuer, after the user, or the host, has ended this. Resolves to `false` when
     * nobody has.
     */
    allow(this: void, app: { readonly userId: string; readonly clientId: string }): Promise<boolean>;
  };
}> {
  const issuers = readIssuers(options);
  return {
    name: 'trustedIssuers',
    grantTypesOfKinds: { authorization_code: [JWT_BEARER], client_credentials: [JWT_BEARER] },
    events: TRUSTED_ISSUER_EVENTS,
    exportUser: async (...of) => (await import('./administer.ts')).exportAllowedGrants(...of),
    administer: async (core) => (await import('./administer.ts')).administerTrustedIssuers(core),
    // The issuers are those of the options: what another one has asserted is over.
    open: async () => ({ accepts: ({ asserted_by: issuer }) => issuer !== undefined && issuers.has(issuer) }),
    install: async (core) => (await import('./install.ts')).installTrustedIssuers(core, issuers),
  };
}

/** What the feature adds to a server, and to an administration. */
export type WithTrustedIssuers = Added<[ReturnType<typeof trustedIssuers>]>;

// So that the compiler finds what it adds to the events wherever a program imports the feature.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './events.ts';

import type { LastUses } from '../clients/last-use.ts';
import { now } from '../contracts/clock.ts';
import type { AuditOrigin, Seconds, VerifyAccessToken } from '../contracts/index.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { derivedFromEach } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createSignAccessToken } from '../token/access-token.ts';
import { findForeignGrant } from '../token/foreign-tokens.ts';
import { createIssueToken } from '../token/issue-token.ts';
import { createEndMissingUser, createRevoke } from '../token/revoke.ts';
import { createEndUnusedGrants } from '../token/unused-grants.ts';
import { TokenKey } from '../token/token-key.ts';
import type { TokenKeys } from '../token/token-key.ts';
import { createFindUsable } from '../token/usable-token.ts';
import { createIsTokenActive, createVerifyAccessToken } from '../token/verify-access-token.ts';
import type { IsTokenActive } from '../token/verify-access-token.ts';
import type { ServerClients } from './clients.ts';
import type { ServerFeature } from './features.ts';
import type { ServerKeys } from './keys.ts';
import type { ServerRecord } from './record.ts';
import type { ServerStorage } from './storage.ts';

// Clients repeat their requests.
const WARNING_INTERVAL: Seconds = 3600;

/** Makes the functions that sign, issue, verify and revoke the tokens of a server. */
export function createTokens(
  options: ResolvedOptions,
  {
    clients: { directory },
    invalidation,
    keys: { aboutUser: aboutUserRing, tokens: keyRing },
    openedFeatures,
    record: { audit },
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly clients: ServerClients;
    readonly keys: ServerKeys;
    readonly openedFeatures: readonly ServerFeature[];
    readonly record: ServerRecord;
  },
) {
  const { issuer, logger, storage } = options;
  const accessTokens = openedFeatures.flatMap(({ accessTokens: ofServer = [] }) => ofServer);
  const accepts = openedFeatures.flatMap(({ accepts: ofFeature = [] }) => ofFeature);
  const refreshTokens = openedFeatures.flatMap(({ findRefreshToken = [] }) => findRefreshToken);
  const keysOf = (ring: KeyRing): TokenKeys =>
    derivedFromEach(
      () => ring.signing,
      (jwk) => new TokenKey(jwk, storage),
    );
  const accessTokenKeys = keysOf(keyRing);
  const aboutUserKeys =
    aboutUserRing && (aboutUserRing === keyRing ? accessTokenKeys : keysOf(aboutUserRing));
  const signAccessToken = createSignAccessToken(options, accessTokenKeys);

  let warnedAt = 0;

  /** All tokens of the former issuer are refused, and nothing else shows why. */
  function warnOfOtherIssuer(former: string): void {
    if (now() < warnedAt + WARNING_INTERVAL) return;
    warnedAt = now();
    logger.warn(
      { issuer, issuer_of_token: former },
      'a token that was signed with a key of this storage names another issuer: if the option issuer was changed, set it back, or have clients get new tokens',
    );
  }

  /** Verifies tokens for an API; without one, for any, also for one that the options have lost. */
  function verifyFor(audience?: string): VerifyAccessToken {
    const own = createVerifyAccessToken({
      issuer,
      audience,
      keys: accessTokenKeys,
      reload: async () => keyRing.reload(),
    });
    const others = audience === undefined || audience === issuer ? accessTokens : [];
    return async (token, refused) => {
      for (const other of others) if (other.isWellFormed(token)) return other.verify(token, refused);
      return own(token, (why) => {
        if (why.reason === 'issuer') warnOfOtherIssuer(why.url);
        refused?.(why);
      });
    };
  }
  const verify = verifyFor();

  /** Makes the check whether a verified token was revoked. */
  const isActiveFor = (appUsed?: LastUses['appUsed']): IsTokenActive =>
    createIsTokenActive(storage.revocations, { accepts, foreign: accessTokens }, appUsed);

  /** The revocation whose audit events have an origin. */
  const revokeFor = (origin?: AuditOrigin) =>
    createRevoke(storage, {
      verify,
      findForeignGrant: async (token) => findForeignGrant(refreshTokens, token),
      invalidate: invalidation.notify,
      audit: origin ? { ...audit, record: (event) => audit.record(event, origin) } : audit,
    });

  const endMissingUser = createEndMissingUser(revokeFor(), storage.consents);
  return {
    /** The keys of access tokens, and those of what clients learn of users that are others. */
    signingKeys: (): ReturnType<TokenKeys> =>
      aboutUserKeys && aboutUserKeys !== accessTokenKeys
        ? [...accessTokenKeys(), ...aboutUserKeys()]
        : accessTokenKeys(),
    aboutUserKeys: aboutUserKeys && { signing: aboutUserKeys, ring: aboutUserRing },
    signAccessToken,
    issueToken: createIssueToken(options, { audit, clients: directory, signAccessToken, storage }),
    /** Verifies tokens for any API. */
    verify,
    verifyFor,
    isActiveFor,
    revokeFor,
    endMissingUser,
    endUnusedGrants: createEndUnusedGrants(storage.grants, audit),
    findUsable: createFindUsable(options, { clients: directory, endMissingUser }),
  };
}

export type ServerTokens = ReturnType<typeof createTokens>;

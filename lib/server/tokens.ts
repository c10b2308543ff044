import type { LastUses } from '../clients/last-use.ts';
import type { AuditOrigin, LogoutNotices, VerifyAccessToken } from '../contracts/index.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { derivedFromEach } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { Passport } from '../passport/passport.ts';
import { createSignAccessToken } from '../token/access-token.ts';
import { createIssueToken } from '../token/issue-token.ts';
import { createEndMissingUser, createRevoke } from '../token/revoke.ts';
import { TokenKey } from '../token/token-key.ts';
import type { TokenKeys } from '../token/token-key.ts';
import { createIsTokenActive, createVerifyAccessToken } from '../token/verify-access-token.ts';
import type { IsTokenActive } from '../token/verify-access-token.ts';
import type { ServerClients } from './clients.ts';
import type { ServerKeys } from './keys.ts';
import type { ServerRecord } from './record.ts';
import type { ServerStorage } from './storage.ts';

/** Makes the functions that sign, issue, verify and revoke the tokens of a server. */
export function createTokens(
  options: ResolvedOptions,
  {
    clients: { directory },
    invalidation,
    keys: { idTokens: idTokenRing, tokens: keyRing },
    logouts,
    passport,
    record: { audit },
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly clients: ServerClients;
    readonly keys: ServerKeys;
    /** `undefined`: no client is told that its users were signed out. */
    readonly logouts: LogoutNotices | undefined;
    readonly passport: Passport | undefined;
    readonly record: ServerRecord;
  },
) {
  const { issuer, openid, resources, storage } = options;
  const keysOf = (ring: KeyRing): TokenKeys =>
    derivedFromEach(
      () => ring.signing,
      (jwk) => new TokenKey(jwk, storage),
    );
  const accessTokenKeys = keysOf(keyRing);
  const idTokenKeys = idTokenRing && (idTokenRing === keyRing ? accessTokenKeys : keysOf(idTokenRing));
  const signAccessToken = createSignAccessToken(options, accessTokenKeys);

  /** Verifies tokens for one API, or for any of several. */
  function verifyFor(audience: string | string[]): VerifyAccessToken {
    const own = createVerifyAccessToken({
      issuer,
      audience,
      keys: accessTokenKeys,
      reload: async () => keyRing.reload(),
    });
    const foreign = [audience].flat().includes(issuer) ? passport?.accessTokens : undefined;
    return foreign ? async (token) => (foreign.hasForm(token) ? foreign.verify(token) : own(token)) : own;
  }
  const audiences = [...resources.keys(), ...(openid ? [openid.resource] : [])];
  const verify = verifyFor(audiences.length > 1 ? audiences : issuer);

  /** Makes the check whether a verified token was revoked. */
  function isActiveFor(appUsed?: LastUses['appUsed']): IsTokenActive {
    const own = createIsTokenActive(storage.revocations, appUsed);
    const foreign = passport?.accessTokens;
    return foreign
      ? async (claims) => (foreign.isOwn(claims) ? foreign.isActive(claims, appUsed) : own(claims))
      : own;
  }

  /** The revocation whose audit events have an origin. */
  const revokeFor = (origin?: AuditOrigin) =>
    createRevoke(storage, {
      verify,
      findForeignGrant: passport?.findGrant,
      invalidate: invalidation.notify,
      logouts,
      audit: origin ? { ...audit, record: (event) => audit.record(event, origin) } : audit,
    });

  return {
    /** The keys of access tokens, and those of ID tokens that are others. */
    signingKeys: (): ReturnType<TokenKeys> =>
      idTokenKeys && idTokenKeys !== accessTokenKeys
        ? [...accessTokenKeys(), ...idTokenKeys()]
        : accessTokenKeys(),
    /** `undefined`: no ID tokens are issued. */
    idTokenKeys,
    signAccessToken,
    issueToken: createIssueToken(options, { audit, clients: directory, signAccessToken, storage }),
    /** Verifies tokens for any API of the server. */
    verify,
    verifyFor,
    isActiveFor,
    revokeFor,
    importRefreshToken: passport?.importRefreshToken,
    endMissingUser: createEndMissingUser(revokeFor(), storage.consents),
  };
}

export type ServerTokens = ReturnType<typeof createTokens>;

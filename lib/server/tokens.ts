import type { AuditOrigin, VerifyAccessToken } from '../contracts/index.ts';
import { derivedFromEach } from '../keys/secrets.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createSignAccessToken, TokenKey } from '../token/access-token.ts';
import type { SignAccessToken, TokenKeys } from '../token/access-token.ts';
import { createIssueToken } from '../token/issue-token.ts';
import { createEndMissingUser, createRevoke } from '../token/revoke.ts';
import type { EndMissingUser } from '../token/revoke.ts';
import { createVerifyAccessToken } from '../token/verify-access-token.ts';
import type { ServerClients } from './clients.ts';
import type { ServerKeys } from './keys.ts';
import type { ServerRecord } from './record.ts';
import type { ServerStorage } from './storage.ts';

/** The functions that sign, issue, verify and revoke the tokens of a server. */
export interface ServerTokens {
  readonly signingKeys: TokenKeys;
  readonly signAccessToken: SignAccessToken;
  readonly issueToken: ReturnType<typeof createIssueToken>;
  /** Verifies tokens for any API of the server. */
  readonly verify: VerifyAccessToken;
  /** Makes the verification of tokens for one API. */
  readonly verifyFor: (audience: string) => VerifyAccessToken;
  /** The revocation whose audit events have an origin. */
  readonly revokeFor: (origin?: AuditOrigin) => ReturnType<typeof createRevoke>;
  readonly endMissingUser: EndMissingUser;
}

export function createTokens(
  options: ResolvedOptions,
  {
    clients: { directory },
    invalidation,
    keys: { tokens: keyRing },
    record: { audit },
  }: Pick<ServerStorage, 'invalidation'> & {
    readonly clients: ServerClients;
    readonly keys: ServerKeys;
    readonly record: ServerRecord;
  },
): ServerTokens {
  const { issuer, resources, storage } = options;
  const signingKeys = derivedFromEach(
    () => keyRing.signing,
    (jwk) => new TokenKey(jwk, storage),
  );
  const signAccessToken = createSignAccessToken(options, signingKeys);

  const verifyFor = (audience: string | string[]): VerifyAccessToken =>
    createVerifyAccessToken({ issuer, audience, keys: keyRing });
  const verify = verifyFor(resources.size > 1 ? [...resources.keys()] : issuer);

  const revokeFor: ServerTokens['revokeFor'] = (origin) =>
    createRevoke(storage, {
      verify,
      invalidate: invalidation.notify,
      audit: origin ? { ...audit, record: (event) => audit.record(event, origin) } : audit,
    });

  return {
    signingKeys,
    signAccessToken,
    issueToken: createIssueToken(options, { audit, clients: directory, signAccessToken, storage }),
    verify,
    verifyFor,
    revokeFor,
    endMissingUser: createEndMissingUser(revokeFor(), storage.consents),
  };
}

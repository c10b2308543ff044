import { createFindClaims } from '../openid/claims.ts';
import { createIssueIdToken } from '../openid/id-token.ts';
import { openIdMetadata } from '../openid/metadata.ts';
import { createUserinfoEndpoint } from '../openid/userinfo.ts';
import type { UserinfoEndpoint } from '../openid/userinfo.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { IssueIdToken } from '../token/exchange.ts';
import { createIsTokenActive } from '../token/verify-access-token.ts';
import type { ServerClients } from './clients.ts';
import type { ServerTokens } from './tokens.ts';

/** OpenID Connect: what is issued, served and announced where it is on. */
export interface ServerOpenId {
  readonly issueIdToken: IssueIdToken;
  readonly metadata: object;
  readonly userinfo: UserinfoEndpoint;
}

/** @param options - with the option `openid` */
export function createOpenId(
  options: ResolvedOptions,
  {
    clients: { directory, lastUses },
    tokens,
  }: { readonly clients: ServerClients; readonly tokens: ServerTokens },
): ServerOpenId {
  const { issuer, storage } = options;
  const openid = options.openid!;
  const findClaims = createFindClaims(openid);
  return {
    issueIdToken: createIssueIdToken({ ...openid, issuer }, { findClaims, idTokenKeys: tokens.idTokenKeys! }),
    metadata: openIdMetadata(options),
    userinfo: createUserinfoEndpoint(options, {
      clients: directory,
      endMissingUser: tokens.endMissingUser,
      findClaims,
      isActive: createIsTokenActive(storage.revocations, lastUses.appUsed),
      verify: tokens.verifyFor(openid.resource),
    }),
  };
}

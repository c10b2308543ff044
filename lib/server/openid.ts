import { isLoopback } from '../contracts/loopback.ts';
import { createPublicPost } from '../http/public-post.ts';
import type { Network } from '../http/public-request.ts';
import type { AuthorizationRequests } from '../login/authorization-request.ts';
import { createFindClaims } from '../openid/claims.ts';
import { createIssueIdToken } from '../openid/id-token.ts';
import { createReadLogoutRequest } from '../openid/logout.ts';
import type { LogoutParts } from '../openid/logout.ts';
import { ANSWER_TIMEOUT, createLogoutSender } from '../openid/logout-sender.ts';
import { openIdMetadata } from '../openid/metadata.ts';
import { createRedirectPosted } from '../openid/posted-request.ts';
import { createUserinfoEndpoint } from '../openid/userinfo.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ServerClients } from './clients.ts';
import type { ServerKeys } from './keys.ts';
import type { ServerRecord } from './record.ts';
import type { ServerTokens } from './tokens.ts';

/** Makes what is issued, served and announced of OpenID Connect. @param options - with the option `openid` */
export function createOpenId(
  options: ResolvedOptions,
  {
    clients: { directory, lastUses },
    internet,
    keys,
    requests,
    record: { audit, observers },
    tokens,
  }: {
    readonly clients: ServerClients;
    /** In which the clients are told of logouts. */
    readonly internet: Partial<Network>;
    readonly keys: ServerKeys;
    readonly requests: AuthorizationRequests;
    readonly record: ServerRecord;
    readonly tokens: ServerTokens;
  },
) {
  const { issuer, logger, storage, users } = options;
  const idTokenKeys = tokens.idTokenKeys!;
  const openid = options.openid!;
  const findClaims = createFindClaims(openid);
  // On the machine of a developer, the apps are there too.
  const isOnLoopback = isLoopback(new URL(issuer).hostname);
  return {
    issueIdToken: createIssueIdToken({ ...openid, issuer }, { findClaims, idTokenKeys }),
    logoutSender: createLogoutSender({
      audit,
      issuer,
      logger,
      logouts: storage.logouts,
      onAttempt: (outcome) => observers.toldOfLogout?.(outcome),
      post: createPublicPost({ ...internet, loopback: internet.loopback || isOnLoopback }, ANSWER_TIMEOUT),
      sign: async (claims, type) => idTokenKeys()[0]!.signJwt(claims, type),
      users,
    }),
    metadata: openIdMetadata(options),
    redirectPosted: createRedirectPosted(options, requests),
    logoutRequestOf: (login: Pick<LogoutParts, 'browserRequestOf' | 'sessions'>) =>
      createReadLogoutRequest(options, {
        ...login,
        clients: directory,
        consents: storage.consents,
        idTokens: keys.idTokens!,
        openHint: requests.openHint,
      }),
    userinfo: createUserinfoEndpoint(options, {
      findClaims,
      findUsable: tokens.findUsable,
      isActive: tokens.isActiveFor(lastUses.appUsed),
      verify: tokens.verifyFor(openid.resource),
    }),
  };
}

export type ServerOpenId = ReturnType<typeof createOpenId>;

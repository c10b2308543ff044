import { isLoopback } from '../../contracts/loopback.ts';
import { METADATA, OWN } from '../../engine/endpoints.ts';
import { createPublicPost } from '../../http/public-post.ts';
import { ANSWER_TIMEOUT } from '../../outbox/delivery-sender.ts';
import { runOnEnds } from '../../outbox/run-on-ends.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createFindClaims } from './claims.ts';
import { createIssueIdToken } from './id-token.ts';
import { createReadLogoutRequest } from './logout-request.ts';
import { createLogoutSender } from './logout-sender.ts';
import { openIdMetadata } from './metadata.ts';
import { USERINFO } from './options.ts';
import type { OpenIdSettings } from './options.ts';
import { logoutReader, logoutStore } from './store.ts';
import { createUserinfoEndpoint } from './userinfo.ts';

export async function installOpenId(core: Core, settings: OpenIdSettings): Promise<Installed> {
  const { audit, clients, network, options, storage, tokens } = core;
  const { aboutUser, issuer, logger, users } = options;
  const { ring, signing } = tokens.aboutUserKeys!;
  const findClaims = createFindClaims(settings);
  const logouts = await storage.store('logouts', logoutStore);
  // From here on, ends of sessions have to reach the clients.
  const ends = logoutReader(storage.ends, logouts);
  await ends.register();
  const logoutRequest = createReadLogoutRequest(options, {
    ...core,
    clients: clients.directory,
    consents: storage.consents,
    idTokens: ring,
  });
  const userinfo = createUserinfoEndpoint(options, {
    findClaims,
    findUsable: tokens.findUsable,
    isActive: tokens.isActiveFor(clients.lastUses.appUsed),
    verify: tokens.verifyFor(aboutUser!.resource),
  });
  // On a developer's machine, the apps run on the same machine.
  const isOnLoopback = isLoopback(new URL(issuer).hostname);
  const sender = createLogoutSender({
    audit,
    issuer,
    logger,
    deliveries: logouts,
    ends,
    post: createPublicPost({ ...network, loopback: network.loopback || isOnLoopback }, ANSWER_TIMEOUT),
    sign: async (claims, type) => signing()[0]!.signJwt(claims, type),
    users,
  });
  return {
    engine: {
      configuration: {
        routes: { userinfo: USERINFO },
        // The engine does not answer this endpoint; the setting lets the parameter `claims` name it.
        features: { userinfo: { enabled: true }, claimsParameter: { enabled: true } },
      },
    },
    addToResponse: createIssueIdToken({ ...settings, issuer }, { findClaims, idTokenKeys: signing }),
    endpoints: [
      {
        ...OWN,
        name: 'userinfo',
        pattern: /^\/oauth\/userinfo\/?$/i,
        path: USERINFO,
        success: { level: 'debug', outcome: 'answered' },
        answer: userinfo,
      },
      // Without this feature the document does not exist: clients that ask for it first expect members that only an OpenID provider has,
      // and use the metadata of RFC 8414 when it is not found.
      { ...METADATA, pattern: /^\/\.well-known\/openid-configuration\/?$/i },
    ],
    metadata: () => openIdMetadata(options, settings),
    pages: async () => (await import('./pages.ts')).openIdPages(logouts),
    logoutRequest,
    run: async (stop) => runOnEnds(storage.ends, sender, stop),
  };
}

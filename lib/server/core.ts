import { createUserAssignments } from '../access/principal.ts';
import { createAuthorizedApps } from '../account/authorized-apps.ts';
import type { User } from '../contracts/index.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { featuresOf, storedEventRulesOf } from '../features/known.ts';
import { createPublicFetch } from '../http/public-fetch.ts';
import { createAuthorizationRequests } from '../login/authorization-request.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ServerBase } from './base.ts';
import { createClients } from './clients.ts';
import { importConsentsOf, installFeatures } from './features.ts';
import { createLogin } from './login.ts';
import { createTokens } from './tokens.ts';

/** Makes the clients, tokens and logins of a server, and the features on them. */
export async function createCore<P extends string, R extends string, U extends User>(
  options: ResolvedOptions<P, R, U>,
  base: ServerBase,
) {
  const { gate, limits, logger, storage, users } = options;
  const { invalidation, keys, limiters, network, openedFeatures, publicFetch, record, storedClients } = base;
  const clients = createClients(options, base);
  const tokens = createTokens(options, { clients, invalidation, keys, openedFeatures, record });
  const requests = createAuthorizationRequests(options, keys.secrets);
  const login = createLogin(options, { record, tokens });
  const tools: ServerParts['tools'] = new Map();
  const userAssignments = createUserAssignments({ assignments: storage.assignments, gate, logger, users });
  const installed = await installFeatures({
    ...login,
    options,
    storage,
    audit: record.audit,
    secrets: keys.secrets,
    limiterOf: (limit) => (limits.attempts ? limiters.limiterOf(limit) : undefined),
    users: userAssignments,
    announce: invalidation.announce,
    eventRules: storedEventRulesOf(featuresOf(options)),
    clients,
    publicFetch,
    lastUses: storedClients.lastUses.queue,
    network,
    publicFetchFor: ({ loopback }) => createPublicFetch({ ...network, loopback }),
    requests,
    tokens,
    tools,
  });
  const importConsents = importConsentsOf(openedFeatures);
  return {
    clients,
    tokens,
    requests,
    tools,
    login,
    userAssignments,
    features: [...openedFeatures, ...installed],
    importConsents,
    authorizedAppsOf: createAuthorizedApps({
      ...options,
      allowed: installed.flatMap(({ allowed = [] }) => allowed),
      audit: record.audit,
      importConsents,
    }),
  };
}

export type ServerCore<U extends User> = Awaited<ReturnType<typeof createCore<string, string, U>>>;

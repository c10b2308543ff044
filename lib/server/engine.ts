import { createUserSessions } from '../account/user-sessions.ts';
import type { InteractionFlow, Pages, User } from '../contracts/index.ts';
import type { FlowParts } from '../contracts/bundled-pages.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { createEngine } from '../engine/provider.ts';
import type { Engine } from '../engine/run.ts';
import { originOf } from '../http/request.ts';
import { loginPart } from '../login/engine-part.ts';
import { createServerFlow } from '../login/flow.ts';
import { checkPages } from '../options/ports.ts';
import { endpointsOf } from '../engine/endpoint-paths.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { tokenPart } from '../token/engine-part.ts';
import type { GrantParts } from '../token/exchange.ts';
import type { ServerAccess } from './access.ts';
import type { ServerBase } from './base.ts';
import type { ServerCore } from './core.ts';

/** The engine of a server, and the pages that its users see. */
export interface ServerEngine {
  readonly engine: Engine;
  readonly pages: Pages;
  readonly apis: ServerParts['apis'];
}

/** What the engine and the pages are made of. */
export type EngineParts<U extends User> = ServerBase &
  ServerCore<U> & {
    readonly access: Pick<ServerAccess<string, string, U>, 'clientPermissions' | 'userAssignments'>;
  };

/** Starts the engine, and starts it anew when the keys change. */
export async function startEngine<U extends User>(
  options: ResolvedOptions,
  parts: EngineParts<U>,
): Promise<ServerEngine> {
  const { clients, features, importConsents, invalidation, keys, limiters, login, record } = parts;
  const { requests, tokens, tools } = parts;
  const { engine } = login;
  const { audit } = record;
  const apis: ServerEngine['apis'] = new Map();
  // They call the engine, which calls them: it starts after they have been made.
  const pages = await createPages(await createFlow(options, { ...parts, apis }), options);
  if (pages.brand !== undefined) clients.reservedNames.add(pages.brand);
  for (const [language, missing] of pages.untranslated?.(scopeLabels(options)) ?? [])
    options.logger.warn(
      { language, missing },
      'scopes without a translation: add them to the option text of pages()',
    );

  const grants: GrantParts = {
    ...tokens,
    options,
    countExchange: limiters.countExchange,
    foreign: {
      finders: features.flatMap(({ findRefreshToken = [] }) => findRefreshToken),
      failedClients: limiters.clients,
    },
    addToResponse: features.flatMap((feature) => feature.addToResponse ?? []),
  };
  const { clientPermissions } = parts.access;
  const { directory } = clients;
  const modules = [
    loginPart(options, { ...tokens, clients: directory, importConsents, requests, tools }),
    tokenPart({ ...tokens, ...grants, clients: directory, clientPermissions }),
    ...features.flatMap((feature) => feature.engine ?? []),
    { grants: features.flatMap((feature) => feature.grantTypes?.(grants) ?? []) },
  ];
  engine.start(() =>
    createEngine(
      options,
      {
        audit,
        clients: directory,
        endpoints: endpointsOf(features),
        clientKinds: parts.clientKinds,
        limiter: limiters.clients,
        pages,
        appUsed: clients.lastUses.appUsed,
        remoteKeys: clients.remoteKeys,
        secrets: keys.secrets,
        signingKeys: tokens.signingKeys,
      },
      modules,
    ),
  );
  for (const ring of new Set([keys.tokens, keys.aboutUser]))
    ring?.onChange(() => {
      engine.restart();
      invalidation.notify();
    });
  return { engine, pages, apis };
}

/** Makes what the pages can do: log in, consent, and what users see of their apps. */
async function createFlow<U extends User>(
  options: ResolvedOptions,
  {
    apis,
    authorizedAppsOf,
    clientKinds,
    clientSources,
    clients,
    features,
    limiters,
    login: { browserRequestOf, provider, sessions },
    record: { audit },
    requests,
    tools,
    userAssignments,
  }: EngineParts<U> & Pick<ServerEngine, 'apis'>,
): Promise<InteractionFlow> {
  const userSessionsOf = createUserSessions({ audit, storage: options.storage });
  const { basePath, origin, paths } = options;
  const flowParts: FlowParts = {
    origin,
    basePath,
    accountPath: paths.account,
    sessionsPath: paths.sessions,
    clientKinds,
    clientSources,
    features: await Promise.all(features.flatMap((feature) => feature.pages?.() ?? [])),
    apis,
  };
  const [logoutRequest] = features.flatMap((feature) => feature.logoutRequest ?? []);
  return createServerFlow(options, {
    flowParts,
    logoutRequest,
    audit,
    browsers: limiters.browsers,
    clients: clients.directory,
    browserRequestOf,
    logins: limiters.logins,
    requests,
    sessions,
    provider,
    tools,
    userAssignments,
    authorizedApps: (ctx, user) => authorizedAppsOf(user, originOf(ctx)),
    userSessions: (ctx, { id }) => userSessionsOf(id, originOf(ctx)),
  });
}

/** The names of the labels of all scopes, see {@link Pages.untranslated}. */
function scopeLabels({
  issuer,
  aboutUser,
  resources,
}: Pick<ResolvedOptions, 'aboutUser' | 'issuer' | 'resources'>): string[] {
  const ofApis = [...resources.values()].flatMap(({ resource, scopes }) =>
    [...scopes.keys()].map((name) => `scope.${resource === issuer ? '' : `${resource} `}${name}`),
  );
  return [...ofApis, ...[...(aboutUser?.scopes.keys() ?? [])].map((name) => `scope.${name}`)];
}

async function createPages(
  flow: InteractionFlow,
  { interactions }: Pick<ResolvedOptions, 'interactions'>,
): Promise<Pages> {
  // Imported on demand, so that a server with pages of its own loads neither EJS nor the bundled views.
  const makePages = interactions ?? (await import('koa-gatehouse/interactions')).pages();
  return checkPages(makePages(flow));
}

import type { ClientSourceHooks } from '../../clients/sources.ts';
import { createAttemptIds, createLimiter, createNodeLimiter } from '../../limits/limiter.ts';
import type { Limit } from '../../limits/limiter.ts';
import { OWN } from '../../engine/endpoints.ts';
import type { EndpointRow } from '../../engine/endpoint-paths.ts';
import type { Core, CoreBase } from '../core.ts';
import type { Installed, Opened } from '../feature.ts';
import { createDocumentLookup } from './document-lookup.ts';
import { createRegistrationEndpoint, REGISTRATION_PATH } from './endpoint.ts';
import { changeLimit, createAddressIds, FETCH_LIMIT, registrationLimit } from './limits.ts';
import { policiesOf } from './options.ts';
import type { AgentSettings, DocumentPolicy, RegistrationPolicy } from './options.ts';
import { OF_DOCUMENT, SELF_REGISTERED } from './sources.ts';
import { registrationStore } from './store.ts';

/** Makes the hooks of the two sources of clients. */
export async function openAgents(base: CoreBase, settings: AgentSettings): Promise<Opened> {
  const { documents, registration } = policiesOf(settings, base.options);
  return {
    clientSources: [
      ...(registration ? [await ofRegistrations(base)] : []),
      ...(documents ? [ofDocuments(base, documents)] : []),
    ],
  };
}

export async function installAgents(core: Core, settings: AgentSettings): Promise<Installed> {
  const { documents, registration } = policiesOf(settings, core.options);
  const endpoints = registration && (await registrationEndpoints(core, registration));
  return {
    ...(endpoints && { endpoints }),
    metadata: () => ({
      ...(registration && { registration_endpoint: core.options.issuer + REGISTRATION_PATH }),
      ...(documents && { client_id_metadata_document_supported: true }),
    }),
  };
}

async function ofRegistrations({ storage }: CoreBase): Promise<ClientSourceHooks> {
  const registrations = await storage.store('registrations', registrationStore);
  return {
    source: SELF_REGISTERED.name,
    addConsent: async (...consent) => registrations.addConsent(...consent),
  };
}

async function registrationEndpoints(core: Core, policy: RegistrationPolicy): Promise<EndpointRow[]> {
  const { audit, clients, options, storage } = core;
  const { issuer } = options;
  const registrations = await storage.store('registrations', registrationStore);
  const { clientIdOf, networkOf } = createAddressIds(core.secrets);
  // Used even where the option `limits.attempts` is `false`, because each registration stores a row.
  const ids = createAttemptIds(core.secrets);
  const limiterOf = <S>(limit: Limit<S>) =>
    createLimiter(storage.attempts, limit, { ids, logger: options.logger });
  const answer = createRegistrationEndpoint(policy, {
    ...clients,
    issuer,
    audit,
    idOf: clientIdOf,
    limiters: {
      registered: limiterOf(registrationLimit(policy)),
      changed: limiterOf(changeLimit(policy)),
      networkOf,
    },
    storage,
    registrations,
  });
  const counter = {
    name: 'gatehouse_registration_requests_total',
    help: 'Requests of apps to register themselves, or to manage their registration.',
  };
  const ofRegistration = {
    ...OWN,
    name: 'registration',
    success: { level: 'info', outcome: 'answered' },
  } as const;
  return [
    {
      ...ofRegistration,
      pattern: /^\/oauth\/register\/?$/i,
      path: REGISTRATION_PATH,
      counter,
      answer: async (ctx, request) => answer(ctx, request, undefined),
    },
    {
      // The configuration endpoint of a client (RFC 7592).
      ...ofRegistration,
      pattern: OF_CLIENT,
      path: `${REGISTRATION_PATH}/:client_id`,
      answer: async (ctx, request) => answer(ctx, request, OF_CLIENT.exec(ctx.path)?.[1]),
    },
  ];
}

const OF_CLIENT = /^\/oauth\/register\/([\w-]{1,255})\/?$/i;

function ofDocuments(
  { audit, clients, options, publicFetch, storage }: CoreBase,
  policy: DocumentPolicy,
): ClientSourceHooks {
  const lookup = createDocumentLookup({
    ...clients,
    audit,
    fetch: publicFetch,
    store: storage.clients,
    countFetch: createNodeLimiter(FETCH_LIMIT),
    policy,
    issuer: options.issuer,
    privateKeyJwt: options.clients.privateKeyJwt,
    logger: options.logger,
  });
  return { source: OF_DOCUMENT.name, lookup };
}

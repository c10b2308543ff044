import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createDynamicRegistration } from '../registration/dynamic-registration.ts';
import { createRegistrationEndpoint } from '../registration/registration-endpoint.ts';
import type { RegistrationEndpoint } from '../registration/registration-endpoint.ts';
import type { ServerClients } from './clients.ts';
import type { ServerLimiters } from './limiters.ts';
import type { ServerRecord } from './record.ts';

/** Creates the endpoint at which apps register themselves; `undefined` without the option `clients.registration`. */
export function createRegistration(
  options: ResolvedOptions,
  {
    clients: { loadNameCheck, onRemoved, registryFor },
    limiters,
    record: { audit },
  }: {
    readonly clients: ServerClients;
    readonly limiters: ServerLimiters['registrations'];
    readonly record: ServerRecord;
  },
): RegistrationEndpoint | undefined {
  const {
    clients: { registration: policy },
    issuer,
    storage,
  } = options;
  if (!policy || !limiters) return undefined;
  const dynamicRegistration = createDynamicRegistration(policy, {
    audit,
    limiters,
    loadNameCheck,
    names: { ...options, lifetimes: options.tokens.lifetimes, privateKeyJwt: options.clients.keys },
    onRemoved,
    registryFor,
    storage,
  });
  return createRegistrationEndpoint(
    { initialAccessTokenHashes: policy.initialAccessTokens, issuer },
    dynamicRegistration,
  );
}

import type { RegistrationThrottle } from '../limits/registration-throttle.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createDynamicRegistration } from '../registration/dynamic-registration.ts';
import { createRegistrationEndpoint } from '../registration/registration-endpoint.ts';
import type { RegistrationEndpoint } from '../registration/registration-endpoint.ts';
import type { ServerClients } from './clients.ts';
import type { ServerRecord } from './record.ts';

/** Creates the endpoint at which apps register themselves; `undefined` without the option `clients.registration`. */
export function createRegistration(
  options: ResolvedOptions,
  {
    clients: { loadNameCheck, onRemoved, registryFor },
    record: { audit },
    throttleOf,
  }: {
    readonly clients: ServerClients;
    readonly record: ServerRecord;
    readonly throttleOf: (perAddress: number) => RegistrationThrottle;
  },
): RegistrationEndpoint | undefined {
  const {
    clients: { registration: policy },
    issuer,
    storage,
  } = options;
  if (!policy) return undefined;
  const throttle = throttleOf(policy.perAddress);
  const dynamicRegistration = createDynamicRegistration(policy, {
    audit,
    loadNameCheck,
    names: { ...options, lifetimes: options.tokens.lifetimes, privateKeyJwt: options.clients.keys },
    networkOf: (address) => throttle.networkOf(address),
    onRemoved,
    registryFor,
    storage,
  });
  return createRegistrationEndpoint(
    { initialAccessTokenHashes: policy.initialAccessTokens, issuer },
    { dynamicRegistration, throttle },
  );
}

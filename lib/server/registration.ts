import { changeLimit, registrationLimit } from '../limits/limits.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
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
    limiters: { clientIdOf, limiterOf, networkOf },
    record: { audit },
  }: {
    readonly clients: ServerClients;
    readonly limiters: ServerLimiters;
    readonly record: ServerRecord;
  },
): RegistrationEndpoint | undefined {
  const { clients, issuer, storage, tokens } = options;
  const policy = clients.registration;
  if (!policy) return undefined;
  return createRegistrationEndpoint(policy, {
    issuer,
    audit,
    idOf: clientIdOf,
    limiters: {
      registered: limiterOf(registrationLimit(policy)),
      changed: limiterOf(changeLimit(policy)),
      networkOf,
    },
    loadNameCheck,
    names: { ...options, lifetimes: tokens.lifetimes, privateKeyJwt: clients.keys },
    onRemoved,
    registryFor,
    signsIn: options.openid !== undefined,
    storage,
  });
}

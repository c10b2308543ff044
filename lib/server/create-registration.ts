import { createDynamicRegistration } from '../clients/dynamic-registration.ts';
import type { RegistrationParts } from '../clients/dynamic-registration.ts';
import { createNameMistake } from '../developer/app-names.ts';
import { createRegistrationEndpoint } from '../oidc/registration-endpoint.ts';
import type { RegistrationEndpoint } from '../oidc/registration-endpoint.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { RegistrationThrottle } from '../throttle/registration-throttle.ts';

/** Creates the endpoint at which apps register themselves; `undefined` without the option `dynamicRegistration`. */
export function createRegistration(
  { dynamicRegistration: policy, gate, issuer, lifetimes, privateKeyJwt, scopes, storage }: ResolvedOptions,
  {
    audit,
    registryFor,
    reservedNames,
    throttle,
  }: Pick<RegistrationParts, 'audit' | 'registryFor'> & {
    readonly reservedNames: ReadonlySet<string>;
    readonly throttle: (perAddress: number) => RegistrationThrottle;
  },
): RegistrationEndpoint | undefined {
  if (!policy) return undefined;
  const dynamicRegistration = createDynamicRegistration(policy, {
    audit,
    nameMistake: createNameMistake(reservedNames),
    names: { gate, lifetimes, privateKeyJwt, scopes },
    registryFor,
    storage,
  });
  return createRegistrationEndpoint(
    { initialAccessTokenHashes: policy.initialAccessTokenHashes, issuer },
    { dynamicRegistration, throttle: throttle(policy.perAddress) },
  );
}

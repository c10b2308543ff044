import type { ClientGrantType } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { EventRules } from '../record/event-rules.ts';
import type { Feature } from './feature.ts';

/** The option `features`. */
export function features(place: string, given: readonly Feature[]): readonly Feature[] {
  if (!Array.isArray(given) || !given.every((one) => isFeature(Object(one))))
    throw new ConfigError(place, 'pass a list of features, such as [devices()]');
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ConfigError(place, `pass ${twice}() once`);
  return given;
}

/** The kinds of clients that a server has something for, with their grant types. */
export function clientKindsOf(given: readonly Feature[]): ReadonlyMap<ClientGrantType, readonly string[]> {
  const all = [CORE, ...given.map(({ clients }) => clients ?? {})].flatMap(
    (kinds) => Object.entries(kinds) as [ClientGrantType, readonly string[]][],
  );
  return new Map(all);
}

const CORE = { authorization_code: ['authorization_code'], client_credentials: ['client_credentials'] };

/** How the events of features are recorded. */
export function eventRulesOf(given: readonly Feature[]): EventRules {
  return Object.assign({}, ...given.map(({ events }) => events));
}

function isFeature({ install, name }: Partial<Feature>): boolean {
  return typeof name === 'string' && typeof install === 'function';
}

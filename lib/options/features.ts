import { ConfigError } from '../errors.ts';
import type { AboutUser } from './about-user.ts';

/** A feature, as far as the options need to know it. `Feature` declares all its parts. */
export interface AnyFeature {
  readonly name: string;
  /** What clients learn about users who sign in to them, and the scopes for that. At most one feature of a server has it. */
  readonly aboutUser?: AboutUser;
  install(core: never): unknown;
}

/** The option `features`. */
export function features(place: string, given: readonly AnyFeature[]): readonly AnyFeature[] {
  const isFeature = ({ install, name }: Partial<AnyFeature>): boolean =>
    typeof name === 'string' && typeof install === 'function';
  if (!Array.isArray(given) || !given.every((one) => isFeature(Object(one))))
    throw new ConfigError(place, 'pass a list of what its factories return, such as [personalTokens()]');
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ConfigError(place, `pass ${twice}() once`);
  return given;
}

import { ConfigError } from '../errors.ts';

/**
 * Checks that options are an object whose members all have the name of an option.
 *
 * @param names - one member for each option, so that a forgotten one does not compile
 * @param place - of the options in errors: an option, such as `bulk`, or a function, such as `knexStorage()`. @default none
 * @throws ConfigError with the remedy
 */
export function checkKnownOptions<T extends object>(
  given: T,
  names: Readonly<Record<keyof T, true>>,
  place?: string,
): T {
  const known = Object.keys(names);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError(place ?? 'options', `pass an object with some of ${known.join(', ')}`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    throw new ConfigError(
      optionAt(place, name),
      `there is no such option; the options are ${known.join(', ')}`,
    );
  }
  return given;
}

function optionAt(place: string | undefined, name: string): string {
  if (place === undefined) return name;
  return place.endsWith('()') ? `${place.slice(0, -2)}({ ${name} })` : `${place}.${name}`;
}

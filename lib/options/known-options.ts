import { ConfigError } from '../errors.ts';

/**
 * Checks that options are an object whose members all have the name of an option.
 *
 * @param names - an object with a member for each option
 * @param place - of the options in errors: an option, such as `bulk`, or a function, such as `knexStorage()`. @default none
 * @throws ConfigError with the remedy
 */
export function checkKnownOptions<T extends object>(
  given: T,
  names: Readonly<Record<keyof T, unknown>>,
  place?: string,
): T {
  const listed = Object.keys(names).join(', ');
  if (!isObject(given)) throw new ConfigError(place ?? 'options', `pass an object with some of ${listed}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    const similar = Object.keys(names).find((known) => isSimilar(name, known)) ?? memberLike(name, names);
    throw new ConfigError(
      placeOf(place, name),
      similar === undefined
        ? `there is no such option; the options are ${listed}`
        : `there is no such option; did you mean ${similar}? The options are ${listed}`,
    );
  }
  return given;
}

/** Whether a value is an object such as `{ ... }` or of a class, and not an array or a function. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The name of an option in errors. */
export function placeOf(place: string | undefined, name: string): string {
  if (place === undefined) return name;
  return place.endsWith('()') ? `${place.slice(0, -2)}({ ${name} })` : `${place}.${name}`;
}

/** The option of a group that a name is meant for: the one with the longest name that is like it, or in it. */
function memberLike(name: string, names: Readonly<Record<string, unknown>>): string | undefined {
  const meant = name.toLowerCase();
  const places = Object.entries(names).flatMap(([group, declared]) =>
    membersOf(declared)
      .filter((member) => isSimilar(name, member) || meant.includes(member.toLowerCase().replace(/s$/, '')))
      .map((member) => ({ length: member.length, place: `${group}.${member}` })),
  );
  return places.toSorted((one, other) => other.length - one.length)[0]?.place;
}

/** The names of the options in a group (`object()`). */
function membersOf(declared: unknown): readonly string[] {
  const { check = declared } = Object(declared) as { readonly check?: unknown };
  return Object.keys((Object(check) as { readonly members?: object }).members ?? {});
}

/** Whether two names differ in case and in two letters at most, for names of three letters and more. */
function isSimilar(name: string, known: string): boolean {
  const [from, to] = [name.toLowerCase(), known.toLowerCase()];
  return distance(from, to) <= Math.min(2, Math.floor(to.length / 3));
}

/** The number of letters to insert, delete or replace (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let line = 1; line <= from.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = row[column - 1]! + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}

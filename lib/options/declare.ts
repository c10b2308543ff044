/** Options are declared once: their names, types, defaults and checks follow from a table of them. */
import { ConfigError } from '../errors.ts';

/**
 * Checks what is given for an option, and returns the value that the code works with.
 *
 * @param place - the option in errors
 * @throws ConfigError with the remedy
 */
export type Check<G, V = G> = (place: string, given: G) => V;

/** An option that can be left out. */
export interface Optional<G, V> {
  readonly check: Check<G, V>;
  /** The default, which is checked like a given value. When it is `undefined`, the value is `undefined` too. */
  readonly default: G | undefined;
}

/** Declares an option that can be left out, with its default. */
export function optional<G, V>(check: Check<G, V>): Optional<G, V | undefined>;
export function optional<G, V>(check: Check<G, V>, byDefault: NoInfer<G>): Optional<G, V>;
export function optional<G, V>(check: Check<G, V>, byDefault?: G): Optional<G, V | undefined> {
  return { check, default: byDefault };
}

type CheckOf<T> = T extends { readonly check: infer C } ? C : T;
type GivenFor<T> = CheckOf<T> extends Check<infer G, unknown> ? G : never;
type OptionalNames<D> = { [N in keyof D]: D[N] extends { readonly check: unknown } ? N : never }[keyof D];
// The types are mapped over the names of the table itself, which keeps the doc comments of its members.
type Needed<D, Names extends keyof D> = { readonly [N in Names]: GivenFor<D[N]> };
type Left<D, Names extends keyof D> = { readonly [N in Names]?: GivenFor<D[N]> | undefined };

/** What is given for the options of a table. */
export type Given<D> = [Exclude<keyof D, OptionalNames<D>>] extends [never]
  ? Left<D, keyof D>
  : Needed<D, Exclude<keyof D, OptionalNames<D>>> & Left<D, OptionalNames<D>>;

/** The values of the options of a table, with the defaults. */
export type Values<D> = {
  readonly [N in keyof D]: CheckOf<D[N]> extends Check<never, infer V> ? V : never;
};

/**
 * Reads the options of a table: refuses unknown options, checks the others, and fills in the defaults.
 *
 * @param place - the place of the options in errors: an option, such as `bulk`, or a function, such as `knexStorage()`. @default none
 * @throws ConfigError for the first mistake, with the remedy
 */
export function readOptions<D extends object>(declared: D, given: Given<D>, place?: string): Values<D> {
  checkNames(given, declared, place);
  const values = Object.entries<Declared>(declared as Readonly<Record<string, Declared>>).map(
    ([name, option]) => {
      const own: unknown = given[name as keyof typeof given];
      return [name, valueOf(option, placeOf(place, name), own)];
    },
  );
  return Object.freeze(Object.fromEntries(values)) as Values<D>;
}

type Declared = Check<unknown, unknown> | Optional<unknown, unknown>;

function valueOf(option: Declared, place: string, given: unknown): unknown {
  if (typeof option === 'function') return option(place, given);
  const value = given === undefined ? option.default : given;
  return value === undefined ? undefined : option.check(place, value);
}

/** Some of the options of a table. */
export function pick<D extends object, N extends keyof D>(declared: D, ...names: readonly N[]): Pick<D, N> {
  return Object.fromEntries(names.map((name) => [name, declared[name]])) as Pick<D, N>;
}

/** A value that is checked where it is used, or of which none is wrong. */
export function unchecked<T>(_place: string, given: T): T {
  return given;
}

/** An option that is an object with the options of a table. Its `members` show whether a name in the wrong place is meant for it. */
export function object<D extends object>(declared: D): Check<Given<D>, Values<D>> {
  const check: Check<Given<D>, Values<D>> = (place, given) => readOptions(declared, given, place);
  return Object.assign(check, { members: declared });
}

/** An option that is an object with the options of a table, or `false` to switch off what it is about: the value is then `undefined`. */
export function objectOrFalse<D extends object>(declared: D): Check<Given<D> | false, Values<D> | undefined> {
  return (place, given) => {
    if (given === false) return undefined;
    if (isObject(given)) return readOptions(declared, given, place);
    throw new ConfigError(
      place,
      `pass an object with some of ${Object.keys(declared).join(', ')}, or false for none`,
    );
  };
}

/**
 * Checks that options are an object, and that all its members have the name of an option. Their values are checked elsewhere.
 *
 * @param declared - an object with these names
 * @throws ConfigError for the first name that is no option, with the remedy
 */
export function checkNames(given: unknown, declared: object, place: string | undefined): void {
  const listed = Object.keys(declared).join(', ');
  if (!isObject(given)) throw new ConfigError(place ?? 'options', `pass an object with some of ${listed}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(declared, name)) continue;
    const similar =
      Object.keys(declared).find((known) => isSimilar(name, known)) ?? memberLike(name, declared);
    throw new ConfigError(
      placeOf(place, name),
      similar === undefined
        ? `there is no such option; the options are ${listed}`
        : `there is no such option; did you mean ${similar}? The options are ${listed}`,
    );
  }
}

/** Whether a value is an object such as `{ ... }` or an instance of a class, and not an array or a function. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The name of an option in errors: `issuer`, `tokens.claims`, `convert({ margin.top })`. */
export function placeOf(place: string | undefined, name: string): string {
  if (place === undefined) return name;
  if (place.endsWith('()')) return `${place.slice(0, -2)}({ ${name} })`;
  return place.endsWith(' })') ? `${place.slice(0, -3)}.${name} })` : `${place}.${name}`;
}

/**
 * The option of a group that a name is meant for: the option with that name, or else the one with the longest name that is similar to it
 * or part of it.
 */
function memberLike(name: string, declared: object): string | undefined {
  const meant = name.toLowerCase();
  const places = Object.entries(declared).flatMap(([group, option]) =>
    membersOf(option)
      .filter((member) => isSimilar(name, member) || meant.includes(member.toLowerCase().replace(/s$/, '')))
      .map((member) => ({
        length: member === name ? Infinity : member.length,
        place: `${group}.${member}`,
      })),
  );
  return places.toSorted((one, other) => other.length - one.length)[0]?.place;
}

/** The names of the options in a group (`object()`). */
function membersOf(option: unknown): readonly string[] {
  const { check = option } = Object(option) as { readonly check?: unknown };
  return Object.keys((Object(check) as { readonly members?: object }).members ?? {});
}

/** Whether two names differ only in case and in at most two letters; names of less than three letters only in case. */
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

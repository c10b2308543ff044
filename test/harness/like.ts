import type { ExecutionContext } from 'ava';

/** As `t.like()`, but arrays are compared as a whole: `t.like()` accepts further members at the end of an array. */
export function like(t: ExecutionContext, actual: unknown, expected: object, message?: string): void {
  t.deepEqual(comparable(actual, expected), expected, message);
}

/** What is compared of a value: the expected members of objects, and all members of arrays. */
function comparable(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(expected))
    return actual.map((member, index) => comparable(member, expected[index]));
  if (!hasMembers(expected) || typeof actual !== 'object' || actual === null || Array.isArray(actual))
    return actual;
  return Object.fromEntries(
    Object.entries(expected).map(([name, member]) => [name, comparable(Reflect.get(actual, name), member)]),
  );
}

/** An object without members is compared as a whole, as by `t.like()`. */
function hasMembers(value: unknown): value is object {
  const isPlain =
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain && Object.keys(value).length > 0;
}

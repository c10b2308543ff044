import type { StandardSchemaV1 } from '@standard-schema/spec';

import type { Problem } from '../../http/problem.ts';
import type { ActionSchema } from './define-action.ts';

/** What is wrong with one part of a request body. */
export interface InputError {
  /** Where, as a JSON Pointer in a URI fragment (RFC 6901 section 6), such as `#/name`. */
  readonly pointer: string;
  readonly message: string;
}

/** Steps from the root of a request body to a part of it. */
export type Place = readonly (string | number)[];

// More would not be read, and a small body can hold very many mistakes.
const MOST_ERRORS = 100;

/** Checks a value by a schema, and gives what the schema makes of it. `at` is where the value is in the request body. */
export async function checkInput(
  schema: ActionSchema,
  value: unknown,
  at: Place = [],
): Promise<{ readonly value: unknown } | { readonly errors: readonly InputError[] }> {
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return { value: result.value };
  return {
    errors: result.issues.map(({ message, path = [] }) => ({
      pointer: pointerTo([...at, ...path.map(keyOf)]),
      message,
    })),
  };
}

/** The 422 for a body with mistakes. */
export function inputInvalid(errors: readonly InputError[]): Problem {
  return {
    status: 422,
    code: 'input_invalid',
    detail: 'The body does not match the input schema; errors lists each mistake.',
    members: { errors: errors.slice(0, MOST_ERRORS) },
  };
}

export function pointerTo(place: Place): string {
  const steps = place.map((step) =>
    encodeURIComponent(String(step).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')),
  );
  return ['#', ...steps].join('/');
}

function keyOf(segment: PropertyKey | StandardSchemaV1.PathSegment): string | number {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'symbol' ? String(key) : key;
}

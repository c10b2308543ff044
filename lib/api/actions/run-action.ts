import type { StandardSchemaV1 } from '@standard-schema/spec';

import type { Logger } from '../../contracts/index.ts';
import { explainError } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import type { Action, ActionCall, ActionSchema } from './define-action.ts';

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

// What no object is called, and what some databases stumble over.
const OBJECT_ID = /^\P{Cc}{1,255}$/u;

export const OBJECT_ID_RULE = 'An id has 1 to 255 characters, and no control characters.';

/** Tells whether an object can have this id. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && OBJECT_ID.test(value);
}

/** What became of a call: the output as JSON text, or why there is none. */
export type Outcome = { readonly output: string } | { readonly problem: Problem };

/** Where a fault of the server is written, and how it is found. */
export interface FaultLog {
  readonly logger: Logger;
  readonly requestId: string;
  /** Which item of a bulk it is, from 0. */
  readonly item?: number;
}

/** Runs an action on input that was checked, and checks what it returns. Never throws. */
export async function runAction(action: Action, call: ActionCall, log: FaultLog): Promise<Outcome> {
  try {
    return { output: await outputOf(action, await action.run(call)) };
  } catch (error) {
    // Whatever it did about it, nobody is there to read why.
    if (call.signal.aborted) return { problem: ABORTED };
    return { problem: explainFault(error, action, log) };
  }
}

/** The problem of an action that threw, or whose schema did. A fault of the server is logged. */
export function explainFault(error: unknown, action: Action, log: FaultLog): Problem {
  const { item, logger, requestId } = log;
  const fields = { action: `${action.type}/${action.name}`, ...(item === undefined ? {} : { item }) };
  return explainError(error, logger, { request_id: requestId, ...fields });
}

export const ABORTED: Problem = {
  status: 503,
  code: 'aborted',
  detail: 'The action was aborted.',
};

async function outputOf(action: Action, returned: unknown): Promise<string> {
  const checked = await checkInput(action.output, returned);
  if ('errors' in checked) {
    const faults = checked.errors.map(({ pointer, message }) => `${pointer}: ${message}`);
    throw new TypeError(
      `${action.type}/${action.name} returned a value that does not match its output schema: ${faults.join('; ')}`,
    );
  }
  // JSON has no `undefined`.
  return JSON.stringify(checked.value) ?? 'null';
}

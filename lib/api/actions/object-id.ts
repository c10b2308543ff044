// What no object is called, and what some databases stumble over.
const OBJECT_ID = /^\P{Cc}{1,255}$/u;

export const OBJECT_ID_RULE = 'An id has 1 to 255 characters, and no control characters.';

/** Tells whether an object can have this id. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && OBJECT_ID.test(value);
}

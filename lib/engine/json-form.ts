import { BodyError } from '../errors.ts';

/**
 * Reads a JSON object of parameters as a form. Strings, and whole numbers by their decimal text (ids of older clients);
 * anything else is refused, so that no value of another type ever reaches the engine or a query.
 */
export function jsonToForm(text: string): URLSearchParams {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BodyError('the request body is not valid JSON', { cause });
  }
  const form = objectToForm(value);
  // JSON.parse keeps the last of two members with one name and tells nobody. In a flat object each member has exactly
  // one colon outside of the strings.
  const members = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/:/g)?.length ?? 0;
  if (members !== form.size) throw new BodyError('parameters must not be provided twice');
  return form;
}

/** The same for a body that a host's parser has read. Arrays are repeated parameters, which the engine refuses. */
export function objectToForm(value: unknown): URLSearchParams {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError('the request body must be an object of parameters');
  }
  const form = new URLSearchParams();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string' || Number.isSafeInteger(member)) form.append(name, String(member));
    else throw new BodyError('every parameter must be a string, once');
  }
  return form;
}

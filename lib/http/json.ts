import { BodyError } from '../errors.ts';

/** @throws BodyError - 400 for text that is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BodyError('The body is not valid JSON.', { cause });
  }
}

/**
 * Checks that a value is I-JSON (RFC 7493): no duplicate members, no lone surrogates, only finite numbers. NUL characters,
 * which PostgreSQL refuses in text, and more than 32 levels are refused too.
 *
 * @param text - the text that was parsed, if known: duplicate members are visible in the text only
 * @throws BodyError - 400 for any other value
 */
export function checkJson(value: unknown, text?: string): unknown {
  const members = checkAndCount(value, 1);
  if (text !== undefined) refuseDuplicates(text, members);
  return value;
}

/**
 * Refuses JSON with duplicate members, of which `JSON.parse()` returns the last only.
 *
 * @param members - the number of members of all objects in the parsed value
 * @throws BodyError - 400
 */
export function refuseDuplicates(text: string, members: number): void {
  // Each member has exactly one colon outside of strings, so a duplicate shows as a colon too many.
  let colons = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') index += 1;
    else if (!inString && character === ':') colons += 1;
  }
  if (colons !== members) throw new BodyError('An object of the body contains a duplicate member.');
}

const MAX_DEPTH = 32;

/** Counts the members of all objects in a value, and checks the value's texts, numbers and depth. */
function checkAndCount(value: unknown, depth: number): number {
  if (typeof value === 'string') checkText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new BodyError('The body contains a number that is too large.');
  }
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > MAX_DEPTH) throw new BodyError(`The body is more than ${MAX_DEPTH} levels deep.`);
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += checkAndCount(item, depth + 1);
    return members;
  }
  for (const [name, member] of Object.entries(value)) {
    checkText(name);
    members += 1 + checkAndCount(member, depth + 1);
  }
  return members;
}

function checkText(text: string): void {
  if (text.includes('\0')) throw new BodyError('The body contains a NUL character.');
  if (!text.isWellFormed()) throw new BodyError('The body contains a lone surrogate.');
}

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
 * Checks that a value is I-JSON (RFC 7493): no member twice, no half of a surrogate pair, numbers that JavaScript has. It may not
 * hold a NUL either, over which databases stumble, nor be more than 32 levels deep.
 *
 * @param text - what it was parsed from, where that is known: a member that is there twice shows in it alone
 * @throws BodyError - 400 for another value
 */
export function checkJson(value: unknown, text?: string): unknown {
  const members = countMembers(value, 1);
  if (text !== undefined) refuseRepeated(text, members);
  return value;
}

/**
 * Refuses JSON that has a member twice, of which `JSON.parse()` keeps the last.
 *
 * @param members - how many members the objects of the parsed value have together
 * @throws BodyError - 400
 */
export function refuseRepeated(text: string, members: number): void {
  // Each member has one colon outside of strings.
  let colons = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') inString = !inString;
    else if (inString && character === '\\') index += 1;
    else if (!inString && character === ':') colons += 1;
  }
  if (colons !== members) throw new BodyError('An object of the body has a member twice.');
}

const DEEPEST = 32;

/** The number of members of all objects in a value, which is checked on the way. */
function countMembers(value: unknown, depth: number): number {
  if (typeof value === 'string') checkText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new BodyError('The body holds a number that is too large.');
  }
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > DEEPEST) throw new BodyError(`The body is more than ${DEEPEST} levels deep.`);
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item, depth + 1);
    return members;
  }
  for (const [name, member] of Object.entries(value)) {
    checkText(name);
    members += 1 + countMembers(member, depth + 1);
  }
  return members;
}

function checkText(text: string): void {
  if (text.includes('\0')) throw new BodyError('The body holds a NUL.');
  if (!text.isWellFormed()) throw new BodyError('The body holds half of a surrogate pair.');
}

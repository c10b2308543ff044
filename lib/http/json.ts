import { BodyError } from '../errors.ts';

/** @throws BodyError - 400 for text that is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BodyError('The body is not valid JSON.', { cause });
  }
}

/** Parses a text as {@link parseJson}, and checks it as {@link checkJson}. */
export function parseIJson(text: string, refusedName?: string): unknown {
  return checkJson(parseJson(text), text, refusedName);
}

/**
 * Checks that a value is I-JSON (RFC 7493): no duplicate members, no lone surrogates, only finite numbers. NUL characters,
 * which PostgreSQL refuses in text, and more than 32 levels are refused too.
 *
 * @param text - the text that was parsed, if known: duplicate members are visible in the text only
 * @param refusedName - no member may have this name
 * @throws BodyError - 400 for any other value
 */
export function checkJson(value: unknown, text?: string, refusedName?: string): unknown {
  let members = 0;
  // A list instead of recursion, because a body can have a hundred thousand values.
  const found: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (const { depth, value: part } of found) {
    if (typeof part === 'string' && UNSAFE.test(part)) throw unsafeText(part);
    if (typeof part === 'number' && !Number.isFinite(part))
      throw new BodyError('The body contains a number that is too large.');
    if (typeof part !== 'object' || part === null) continue;
    if (depth > MAX_DEPTH) throw new BodyError(`The body is more than ${MAX_DEPTH} levels deep.`);
    const isArray = Array.isArray(part);
    for (const [name, member] of Object.entries(part)) {
      if (!isArray && UNSAFE.test(name)) throw unsafeText(name);
      if (name === refusedName) throw new BodyError('The body is not valid JSON.');
      if (!isArray) members += 1;
      found.push({ value: member, depth: depth + 1 });
    }
  }
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

/** The number of members of all objects in a value. */
export function countMembers(value: unknown): number {
  let members = 0;
  // A list instead of recursion, because a body can have thousands of levels.
  const found = [value];
  for (const part of found) {
    if (typeof part !== 'object' || part === null) continue;
    const parts = Object.values(part);
    if (!Array.isArray(part)) members += parts.length;
    for (const inner of parts) found.push(inner);
  }
  return members;
}

export const MAX_DEPTH = 32;

// A NUL character, or half of a surrogate pair: with the flag `u`, whole pairs do not match.
const UNSAFE = /[\0\ud800-\udfff]/u;

function unsafeText(text: string): BodyError {
  const what = text.includes('\0') ? 'NUL character' : 'lone surrogate';
  return new BodyError(`The body contains a ${what}.`);
}

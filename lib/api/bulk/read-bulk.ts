import type { InputError } from '../actions/check-input.ts';
import { pointerTo } from '../actions/check-input.ts';

/** Many calls of one action, as they were sent. */
export interface BulkRequest {
  readonly items: readonly unknown[];
  /** `independent`: each item by itself. `atomic`: all of them or none. */
  readonly mode: 'independent' | 'atomic';
  /** Check, and change nothing. */
  readonly dryRun: boolean;
}

/** Reads `{ items, mode?, dryRun? }`. What is in the items is looked at later. */
export function readBulk(
  body: unknown,
  maximum: number,
): BulkRequest | { readonly errors: readonly InputError[] } {
  if (!isObject(body)) return { errors: [{ pointer: '#', message: 'Send an object with items.' }] };
  const { items, mode = 'independent', dryRun = false, ...unknown } = body;
  const errors = Object.keys(unknown).map((name) => wrong(name, 'There is no such member.'));
  if (!Array.isArray(items)) errors.push(wrong('items', 'Give an array of items.'));
  else if (items.length === 0) errors.push(wrong('items', 'Give at least one item.'));
  else if (items.length > maximum) errors.push(wrong('items', `Give at most ${maximum} items.`));
  if (mode !== 'independent' && mode !== 'atomic')
    errors.push(wrong('mode', 'Give "independent" or "atomic".'));
  if (typeof dryRun !== 'boolean') errors.push(wrong('dryRun', 'Give true or false.'));
  if (errors.length > 0) return { errors };
  return { items, mode, dryRun } as BulkRequest;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(member: string, message: string): InputError {
  return { pointer: pointerTo([member]), message };
}

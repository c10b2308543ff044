import { checkInput, isObjectId, OBJECT_ID_RULE, pointerTo } from '../actions/perform-action.ts';
import type { InputError, InputPath } from '../actions/perform-action.ts';
import { isObject } from '../../options/declare.ts';
import type { Action } from '../actions/define-action.ts';

/** The body of a bulk request. */
export interface BulkRequest {
  readonly items: readonly unknown[];
  /** `independent`: each item by itself. `atomic`: all items in one transaction. */
  readonly mode: 'independent' | 'atomic';
  /** Whether nothing is changed: items are only checked or, if atomic, rolled back. */
  readonly dryRun: boolean;
}

/** Reads `{ items, mode?, dryRun? }`. The items themselves are checked later. */
export function readBulk(
  body: unknown,
  maximum: number,
): BulkRequest | { readonly errors: readonly InputError[] } {
  if (!isObject(body)) return { errors: [{ pointer: '#', message: 'Send an object with items.' }] };
  const { items, mode = 'independent', dryRun = false, ...unknown } = body;
  const errors = Object.keys(unknown).map((name) => memberError(name, 'There is no such member.'));
  if (!Array.isArray(items)) errors.push(memberError('items', 'Give an array of items.'));
  else if (items.length === 0) errors.push(memberError('items', 'Give at least one item.'));
  else if (items.length > maximum) errors.push(memberError('items', `Give at most ${maximum} items.`));
  if (mode !== 'independent' && mode !== 'atomic')
    errors.push(memberError('mode', 'Give "independent" or "atomic".'));
  if (typeof dryRun !== 'boolean') errors.push(memberError('dryRun', 'Give true or false.'));
  if (errors.length > 0) return { errors };
  return { items, mode, dryRun } as BulkRequest;
}

function memberError(member: string, message: string): InputError {
  return { pointer: pointerTo([member]), message };
}

/** A checked item of a bulk. */
export interface CheckedItem {
  /** The id of the object, for actions of the level `instance`. */
  readonly id: string | undefined;
  readonly input: unknown;
}

/** Checks one item `{ id?, input? }` of a bulk. `at` is the path of the item in the request body. */
export async function checkItem(
  action: Action,
  item: unknown,
  at: InputPath,
): Promise<CheckedItem | { readonly errors: readonly InputError[] }> {
  if (!isObject(item)) return { errors: [{ pointer: pointerTo(at), message: 'Give an object with input.' }] };
  const { id, input = {}, ...unknown } = item;
  const errors: InputError[] = Object.keys(unknown).map((name) => ({
    pointer: pointerTo([...at, name]),
    message: 'There is no such member.',
  }));
  if (action.level === 'collection' && id !== undefined) {
    errors.push({ pointer: pointerTo([...at, 'id']), message: `${action.name} takes no id.` });
  }
  if (action.level === 'instance' && !isObjectId(id)) {
    errors.push({ pointer: pointerTo([...at, 'id']), message: OBJECT_ID_RULE });
  }
  const checked = await checkInput(action.input, input, [...at, 'input']);
  if ('errors' in checked) errors.push(...checked.errors);
  if (errors.length > 0 || 'errors' in checked) return { errors };
  return { id: idOf(item), input: checked.value };
}

/** The id of an item, if it has one. */
export function idOf(item: unknown): string | undefined {
  return isObject(item) && typeof item['id'] === 'string' ? item['id'] : undefined;
}

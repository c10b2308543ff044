import { checkInput, pointerTo } from '../actions/check-input.ts';
import type { InputError, Place } from '../actions/check-input.ts';
import type { Action } from '../actions/define-action.ts';
import { isObjectId, OBJECT_ID_RULE } from '../actions/object-id.ts';
import { isObject } from './read-bulk.ts';

/** An item of a bulk whose input was checked. */
export interface CheckedItem {
  /** Of the object, for actions of the level `instance`. */
  readonly id: string | undefined;
  readonly input: unknown;
}

/** Checks one item `{ id?, input? }` of a bulk. `at` is where errors say that it is. */
export async function checkItem(
  action: Action,
  item: unknown,
  at: Place,
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

/** The id that an item names, if it names one. */
export function idOf(item: unknown): string | undefined {
  return isObject(item) && typeof item['id'] === 'string' ? item['id'] : undefined;
}

import { setImmediate as nextTurn } from 'node:timers/promises';

import { problemDocument } from '../../http/problem.ts';
import { checkInput, isObjectId, OBJECT_ID_RULE, pointerTo } from '../actions/run-action.ts';
import type { InputError, Outcome, InputPath } from '../actions/run-action.ts';
import type { Action } from '../actions/define-action.ts';

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

/** The result of one item. */
export interface BulkResult {
  readonly index: number;
  readonly succeeded: boolean;
  /** `{ index, status, output }` or `{ index, status, problem }` as JSON text, serialized once for both content types. */
  readonly text: string;
}

/** Makes the result of an item. Without an outcome, the item was only checked. */
export function resultOf(index: number, outcome: Outcome | undefined): BulkResult {
  if (outcome && 'problem' in outcome) {
    const { status } = outcome.problem;
    return {
      index,
      succeeded: false,
      text: JSON.stringify({ index, status, problem: problemDocument(outcome.problem) }),
    };
  }
  const output = outcome ? `,"output":${outcome.output}` : '';
  return { index, succeeded: true, text: `{"index":${index},"status":200${output}}` };
}

/** In milliseconds. */
const TIME_SLICE = 10;

/**
 * Creates a function to await between the items of a bulk. Every 10 ms it yields to the event loop: with a synchronous database
 * such as SQLite, a bulk would otherwise block the event loop until its last item.
 */
export function yieldToOtherRequests(): () => Promise<void> {
  let startedAt = performance.now();
  return async function yieldIfDue() {
    if (performance.now() - startedAt < TIME_SLICE) return;
    await nextTurn();
    startedAt = performance.now();
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

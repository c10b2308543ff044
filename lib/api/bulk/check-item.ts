import { setImmediate as nextTurn } from 'node:timers/promises';

import { problemDocument } from '../../http/problem.ts';
import { checkInput, isObjectId, OBJECT_ID_RULE, pointerTo } from '../actions/run-action.ts';
import type { InputError, Outcome, Place } from '../actions/run-action.ts';
import type { Action } from '../actions/define-action.ts';

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

/** What became of one item. */
export interface BulkResult {
  readonly index: number;
  readonly succeeded: boolean;
  /** `{ index, status, output }` or `{ index, status, problem }` as JSON text: written once, sent in one form or another. */
  readonly text: string;
}

/** The result of an item that ran; without an outcome, of one that was only checked. */
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

/** How many there were of each kind. */
export function count(results: readonly BulkResult[]): { succeeded: number; failed: number } {
  const succeeded = results.filter((result) => result.succeeded).length;
  return { succeeded, failed: results.length - succeeded };
}

/** In milliseconds. */
const TURN = 10;

/**
 * Makes a function to wait for between the items of a bulk. Now and then it lets other requests have their turn: a
 * database that answers at once, as SQLite does, would keep the thread until the last item.
 */
export function yieldToOtherRequests(): () => Promise<void> {
  let startedAt = performance.now();
  return async function mayWait() {
    if (performance.now() - startedAt < TURN) return;
    await nextTurn();
    startedAt = performance.now();
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

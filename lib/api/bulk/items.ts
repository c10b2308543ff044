import type { Reauthenticate } from '../../access/reauthentication.ts';
import type { Milliseconds, Principal, Storage } from '../../contracts/index.ts';
import { problemDocument } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { isObject } from '../../options/declare.ts';
import { problemAnswer } from '../actions/answer.ts';
import type { ApiAction } from '../actions/action-index.ts';
import {
  ABORTED,
  admitCall,
  admitCaller,
  checkInput,
  explainFailure,
  inputInvalid,
  isObjectId,
  OBJECT_ID_RULE,
  pointerTo,
  runAction,
} from '../actions/perform-action.ts';
import type { FailureLog, InputError, Outcome } from '../actions/perform-action.ts';
import type { WorkContext, WorkResult } from '../answer-once.ts';
import { bulkAnswer, resultOf } from './results.ts';
import type { BulkRequest, BulkResult } from './results.ts';

/** A bulk that runs, for a user or a client that had the permission of its action when its body had arrived. */
export interface Bulk extends BulkRequest {
  readonly action: ApiAction;
  readonly reauthenticate: Reauthenticate;
  readonly log: FailureLog;
  /** How many items of an independent bulk run at the same time. */
  readonly concurrency: number;
  /** After an abort, no further item is started, and a transaction is rolled back. */
  readonly signal: AbortSignal;
}

/** Runs the items of an independent bulk. The answer to an aborted bulk is a problem. */
export async function answerIndependently(bulk: Bulk): Promise<WorkResult> {
  const results: BulkResult[] = [];
  for await (const result of runIndependently(bulk)) results.push(result);
  if (results.length < bulk.items.length) return { answer: problemAnswer(ABORTED), replay: false };
  const inOrder = results.toSorted((a, b) => a.index - b.index);
  return { answer: bulkAnswer(bulk, inOrder), replay: true };
}

/**
 * Runs the items of an independent bulk and yields their results as they finish. Items with the same id run in their order, one after
 * the other. An item is started only when the consumer requests the next result, so that a slow client slows the bulk down.
 */
export async function* runIndependently(bulk: Bulk): AsyncGenerator<BulkResult, void> {
  const { concurrency, items, signal } = bulk;
  const underWay = new Map<number, Promise<BulkResult>>();
  const lastById = new Map<string, Promise<BulkResult>>();
  const yieldIfDue = yieldToOtherRequests();
  let next = 0;

  function begin(index: number): void {
    const item = items[index];
    const id = isObject(item) && typeof item['id'] === 'string' ? item['id'] : undefined;
    const before = id === undefined ? undefined : lastById.get(id);
    const running = (async () => {
      if (before) await before;
      return resultOf(index, await runIndependent(bulk, index));
    })();
    underWay.set(index, running);
    if (id !== undefined) lastById.set(id, running);
  }

  while (next < items.length || underWay.size > 0) {
    while (next < items.length && underWay.size < concurrency && !signal.aborted) {
      begin(next);
      next += 1;
    }
    if (underWay.size === 0) return;
    const result = await Promise.race(underWay.values());
    underWay.delete(result.index);
    yield result;
    await yieldIfDue();
  }
}

/** Checks one item for the current principal, and runs it unless the bulk is a dry run. Never throws. */
async function runIndependent(bulk: Bulk, index: number): Promise<Outcome | undefined> {
  const { action, dryRun, reauthenticate, signal } = bulk;
  const { database } = action;
  const log = { ...bulk.log, item: index };
  try {
    const checked = await checkItem(action, bulk.items[index], index);
    if ('errors' in checked) return { problem: inputInvalid(checked.errors) };
    const call = { ...checked, reauthenticate, database, dryRun, signal };
    if (!dryRun) return await runAction(action, call, log);
    const admitted = await admitCall(action, call);
    return 'problem' in admitted ? admitted : undefined;
  } catch (error) {
    // The schema threw: only this item fails.
    return { problem: explainFailure(error, action, log) };
  }
}

/**
 * Runs the items of an atomic bulk in their order, in one transaction, which is rolled back when an item fails. No item runs before all
 * inputs were checked. All items run for the principal as it was when the transaction began. A bulk that was rolled back had no effect,
 * so a repeat may run it again.
 *
 * @param storeIn - stores the answer in the transaction
 */
export async function answerAtomically(
  bulk: Bulk,
  storage: Pick<Storage, 'transaction'>,
  storeIn: WorkContext['storeIn'],
): Promise<WorkResult> {
  const { action, dryRun, log, signal } = bulk;
  if (action.database === undefined) return { answer: problemAnswer(UNSUPPORTED), replay: false };
  const checked = await checkAll(bulk);
  if ('errors' in checked) return { answer: problemAnswer(inputInvalid(checked.errors)), replay: false };
  // Read before the transaction, because inside it the read would wait for a second connection.
  const admitted = await admitCaller(action, bulk.reauthenticate);
  if ('problem' in admitted) return { answer: problemAnswer(admitted.problem), replay: false };
  const reauthenticate = (): Principal => admitted.principal;

  const results: BulkResult[] = [];
  const yieldIfDue = yieldToOtherRequests();
  try {
    await storage.transaction(async (database) => {
      for (const [index, item] of checked.entries()) {
        const outcome = await runAction(action, { ...item, reauthenticate, database, dryRun, signal }, log);
        if ('problem' in outcome) throw new RollbackError(failedAt(index, outcome.problem));
        // The action may have ignored the signal.
        if (signal.aborted) throw new RollbackError(ABORTED);
        results.push(resultOf(index, outcome));
        await yieldIfDue();
      }
      if (dryRun) throw new RollbackError(undefined);
      if (!(await storeIn(database, bulkAnswer(bulk, results)))) throw new RollbackError(ABORTED);
    });
  } catch (error) {
    if (!(error instanceof RollbackError)) throw error;
    if (error.problem) return { answer: problemAnswer(error.problem), replay: false };
  }
  return { answer: bulkAnswer(bulk, results), replay: true };
}

async function checkAll({
  action,
  items,
}: Bulk): Promise<readonly CheckedItem[] | { readonly errors: readonly InputError[] }> {
  const checked: CheckedItem[] = [];
  const yieldIfDue = yieldToOtherRequests();
  const errors: InputError[] = [];
  for (const [index, item] of items.entries()) {
    const result = await checkItem(action, item, index);
    if ('errors' in result) errors.push(...result.errors);
    else checked.push(result);
    await yieldIfDue();
  }
  return errors.length > 0 ? { errors } : checked;
}

/** A checked item of a bulk. */
interface CheckedItem {
  /** The id of the object, for actions of the level `instance`. */
  readonly id: string | undefined;
  readonly input: unknown;
}

/** Checks one item `{ id?, input? }` of a bulk. */
async function checkItem(
  action: ApiAction,
  item: unknown,
  index: number,
): Promise<CheckedItem | { readonly errors: readonly InputError[] }> {
  const at = ['items', index];
  if (!isObject(item)) return { errors: [{ pointer: pointerTo(at), message: 'Give an object with input.' }] };
  const { id, input = {}, ...unknown } = item;
  const errors: InputError[] = [];
  const refuse = (name: string, message: string) =>
    errors.push({ pointer: pointerTo([...at, name]), message });
  for (const name of Object.keys(unknown)) refuse(name, 'There is no such member.');
  if (action.level === 'collection' && id !== undefined) refuse('id', `${action.name} takes no id.`);
  if (action.level === 'instance' && !isObjectId(id)) refuse('id', OBJECT_ID_RULE);
  const checked = await checkInput(action.input, input, [...at, 'input']);
  if ('errors' in checked) return { errors: [...errors, ...checked.errors] };
  return errors.length > 0 ? { errors } : { id: id as string | undefined, input: checked.value };
}

/** Thrown to roll the transaction back. */
class RollbackError extends Error {
  readonly problem: Problem | undefined;

  constructor(problem: Problem | undefined) {
    super('rolled back');
    this.problem = problem;
  }
}

function failedAt(index: number, problem: Problem): Problem {
  return {
    ...problem,
    code: 'bulk_rolled_back',
    detail: `Item ${index} failed, so nothing was changed.`,
    members: { index, problem: problemDocument(problem) },
  };
}

const UNSUPPORTED: Problem = {
  status: 422,
  code: 'atomic_unsupported',
  detail: 'This action cannot be rolled back. Send the items with the mode "independent".',
};

const TIME_SLICE: Milliseconds = 2;

/**
 * Creates a function to await between the items of a bulk. Every 2 ms it yields to the event loop: with a synchronous database
 * such as SQLite, a bulk would otherwise block the event loop until its last item. One bulk goes on in each turn of the loop, so that
 * several delay other requests no more than one does.
 */
function yieldToOtherRequests(): () => Promise<void> {
  let startedAt = performance.now();
  return async function yieldIfDue() {
    if (performance.now() - startedAt < TIME_SLICE) return;
    await new Promise<void>((resume) => {
      waiting.push(resume);
      if (waiting.length === 1) setImmediate(resumeNext);
    });
    startedAt = performance.now();
  };
}

/** The bulks that wait for their turn. The first is resumed next. */
const waiting: (() => void)[] = [];

function resumeNext(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(resumeNext);
}

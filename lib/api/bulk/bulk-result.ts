import { problemDocument } from '../../http/problem.ts';
import type { Outcome } from '../actions/run-action.ts';

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

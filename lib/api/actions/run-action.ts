import type { Logger } from '../../contracts/index.ts';
import { explainError } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { checkInput } from './check-input.ts';
import type { Action, ActionCall } from './define-action.ts';

/** What became of a call: the output as JSON text, or why there is none. */
export type Outcome = { readonly output: string } | { readonly problem: Problem };

/** Where a fault of the server is written, and how it is found. */
export interface FaultLog {
  readonly logger: Logger;
  readonly requestId: string;
  /** Which item of a bulk it is, from 0. */
  readonly item?: number;
}

/** Runs an action on input that was checked, and checks what it returns. Never throws. */
export async function runAction(action: Action, call: ActionCall, log: FaultLog): Promise<Outcome> {
  try {
    return { output: await outputOf(action, await action.run(call)) };
  } catch (error) {
    // Whatever it did about it, nobody is there to read why.
    if (call.signal.aborted) return { problem: ABORTED };
    return { problem: explainFault(error, action, log) };
  }
}

/** The problem of an action that threw, or whose schema did. A fault of the server is logged. */
export function explainFault(error: unknown, action: Action, log: FaultLog): Problem {
  const { item, logger, requestId } = log;
  const fields = { action: `${action.type}/${action.name}`, ...(item === undefined ? {} : { item }) };
  return explainError(error, logger, { request_id: requestId, ...fields });
}

export const ABORTED: Problem = {
  status: 503,
  code: 'aborted',
  detail: 'The action was aborted.',
};

async function outputOf(action: Action, returned: unknown): Promise<string> {
  const checked = await checkInput(action.output, returned);
  if ('errors' in checked) {
    const faults = checked.errors.map(({ pointer, message }) => `${pointer}: ${message}`);
    throw new TypeError(
      `${action.type}/${action.name} returned a value that does not match its output schema: ${faults.join('; ')}`,
    );
  }
  // JSON has no `undefined`.
  return JSON.stringify(checked.value) ?? 'null';
}

import type { Logger } from '../../contracts/index.ts';
import type { AnswerOnce, RepeatableRequest } from '../idempotency/answer-once.ts';
import { dataAnswer, problemAnswer } from './answer.ts';
import type { Answer } from './answer.ts';
import type { Action } from './define-action.ts';
import { checkInput, inputInvalid, runAction } from './run-action.ts';
import type { InputPath } from './run-action.ts';

/** A request to run an action, of a user or a client that has its permission. */
export interface ActionRequest extends RepeatableRequest {
  readonly action: Action;
  /** The id of the object, for an action of the level `instance`. */
  readonly id: string | undefined;
  /** Not checked yet. */
  readonly input: unknown;
  /** Where the input is in the caller's message, for its mistakes. @default its root */
  readonly inputAt?: InputPath;
  readonly requestId: string;
  /** Called when the action was run, or its input refused, with the code of the problem; not for a stored answer. */
  readonly ran?: (error: string | undefined) => void;
}

/**
 * Runs an action once, whichever interface it was requested through: the input is checked, and a repeated request gets the stored
 * answer. Never throws for what the caller or the action has done.
 *
 * @throws StorageError when a request with a key cannot be stored; nothing was run
 */
export type PerformAction = (request: ActionRequest) => Promise<Answer>;

export function createPerformAction({
  answerOnce,
  logger,
}: {
  readonly answerOnce: AnswerOnce;
  readonly logger: Logger;
}): PerformAction {
  return async function performAction(request) {
    const { action, id, input, inputAt, principal, ran, requestId } = request;
    const { database } = action;
    return answerOnce(request, async ({ signal }) => {
      const checked = await checkInput(action.input, input, inputAt);
      if ('errors' in checked) {
        const problem = inputInvalid(checked.errors);
        ran?.(problem.code);
        return { answer: problemAnswer(problem), replay: false };
      }
      const call = { input: checked.value, id, principal, database, dryRun: false, signal };
      const outcome = await runAction(action, call, { logger, requestId });
      ran?.('problem' in outcome ? outcome.problem.code : undefined);
      if ('output' in outcome) return { answer: dataAnswer(outcome.output), replay: true };
      const { status, headers = {} } = outcome.problem;
      // A 403 with a challenge is not replayed: the caller can repeat the request with another token.
      const replay = status < 500 && status !== 429 && !('WWW-Authenticate' in headers);
      return { answer: problemAnswer(outcome.problem), replay };
    });
  };
}

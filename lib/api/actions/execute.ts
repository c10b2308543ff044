import type { Logger } from '../../contracts/index.ts';
import { readJson } from '../../http/body.ts';
import { sendProblem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import type { AnswerOnce } from '../idempotency/answer-once.ts';
import type { ActionHandler } from './action-index.ts';
import { dataAnswer, problemAnswer, sendAnswer } from './answer.ts';
import { checkInput, inputInvalid, isObjectId, OBJECT_ID_RULE, runAction } from './run-action.ts';

export interface ExecuteOptions {
  readonly logger: Logger;
  readonly answerOnce: AnswerOnce;
  /** In bytes. */
  readonly bodyLimit: number;
}

/** Answers `POST /actions/{type}/{action}`, for actions of the level `collection`. */
export function executeOnCollection(options: ExecuteOptions): ActionHandler {
  return function execute(ctx, action) {
    if (action.level === 'collection') return run(options, ctx, action, undefined);
    sendProblem(ctx, {
      status: 405,
      code: 'method_not_allowed',
      detail: `${action.name} needs the id of an object: put it before the action's name.`,
      headers: { Allow: 'HEAD, GET, OPTIONS' },
    });
    return undefined;
  };
}

/** Answers `POST /actions/{type}/{id}/{action}`, for actions of the level `instance`. */
export function executeOnInstance(options: ExecuteOptions): ActionHandler {
  return function execute(ctx, action) {
    const { id } = ctx['params'] as { id: string };
    if (action.level === 'instance' && isObjectId(id)) return run(options, ctx, action, id);
    const problem =
      action.level === 'instance'
        ? { code: 'id_invalid', detail: OBJECT_ID_RULE }
        : { code: 'action_not_found', detail: `${action.name} takes no id: leave it out of the path.` };
    sendProblem(ctx, { status: 404, ...problem });
    return undefined;
  };
}

async function run(
  { logger, answerOnce, bodyLimit }: ExecuteOptions,
  ...[ctx, action, id]: [...Parameters<ActionHandler>, string | undefined]
): Promise<void> {
  const body = (await readJson(ctx, bodyLimit)) ?? {};
  const { principal } = ctx.state;
  const { database } = action;
  const answer = await answerOnce(ctx, body, async ({ signal }) => {
    const checked = await checkInput(action.input, body);
    if ('errors' in checked) return { answer: problemAnswer(inputInvalid(checked.errors)), replay: false };
    const call = { input: checked.value, id, principal, database, dryRun: false, signal };
    const outcome = await runAction(action, call, { logger, requestId: requestIdOf(ctx) });
    if ('output' in outcome) return { answer: dataAnswer(outcome.output), replay: true };
    const { status, headers = {} } = outcome.problem;
    // A 403 with a challenge is not replayed: the caller can repeat the request with another token.
    const replay = status < 500 && status !== 429 && !('WWW-Authenticate' in headers);
    return { answer: problemAnswer(outcome.problem), replay };
  });
  sendAnswer(ctx, answer);
}

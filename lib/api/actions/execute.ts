import { readJson } from '../../http/body.ts';
import { sendProblem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { repeatableRequest } from '../idempotency/answer-once.ts';
import type { RequestLimiter } from '../request-limits.ts';
import type { ActionHandler } from './action-index.ts';
import { sendAnswer } from './answer.ts';
import { OBJECT_ID_RULE, answerOf, isObjectId } from './perform-action.ts';
import type { PerformAction } from './perform-action.ts';

export interface ExecuteOptions {
  readonly perform: PerformAction;
  readonly countRuns: RequestLimiter['countRuns'];
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
  { perform, bodyLimit, countRuns }: ExecuteOptions,
  ...[ctx, action, id]: [...Parameters<ActionHandler>, string | undefined]
): Promise<void> {
  const refusal = await countRuns(ctx, action, 1);
  if (refusal) return sendProblem(ctx, refusal);
  const input = (await readJson(ctx, bodyLimit)) ?? {};
  const request = repeatableRequest(ctx, input);
  const performed = await perform({ ...request, action, id, input, requestId: requestIdOf(ctx) });
  sendAnswer(ctx, answerOf(performed));
}

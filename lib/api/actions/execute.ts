import { readJson } from '../../http/body.ts';
import { sendProblem } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { repeatableRequest } from '../answer-once.ts';
import type { RequestLimiter } from '../request-limits.ts';
import type { ActionHandler } from './action-index.ts';
import { sendAnswer } from './answer.ts';
import type { Action } from './define-action.ts';
import { OBJECT_ID_RULE, isObjectId } from './perform-action.ts';
import type { PerformAction } from './perform-action.ts';

/**
 * Answers `POST /actions/{type}/{action}`, for actions of the level `collection`, and `POST /actions/{type}/{id}/{action}`, for those
 * of the level `instance`.
 */
export function executeAction({
  perform,
  bodyLimit,
  countRuns,
}: {
  readonly perform: PerformAction;
  readonly countRuns: RequestLimiter['countRuns'];
  /** In bytes. */
  readonly bodyLimit: number;
}): ActionHandler {
  return async function execute(ctx, action) {
    const { id } = ctx['params'] as { id?: string };
    const refusal = wrongPath(action, id) ?? (await countRuns(ctx, action, 1));
    if (refusal) return sendProblem(ctx, refusal);
    const input = (await readJson(ctx, bodyLimit)) ?? {};
    const request = repeatableRequest(ctx, input);
    sendAnswer(ctx, await perform({ ...request, action, id, input, requestId: requestIdOf(ctx) }));
  };
}

function wrongPath({ level, name }: Action, id: string | undefined): Problem | undefined {
  if (level === 'collection') {
    if (id === undefined) return undefined;
    const detail = `${name} takes no id: leave it out of the path.`;
    return { status: 404, code: 'action_not_found', detail };
  }
  if (id === undefined) {
    return {
      status: 405,
      code: 'method_not_allowed',
      detail: `${name} needs the id of an object: put it before the action's name.`,
      headers: { Allow: 'HEAD, GET, OPTIONS' },
    };
  }
  return isObjectId(id) ? undefined : { status: 404, code: 'id_invalid', detail: OBJECT_ID_RULE };
}

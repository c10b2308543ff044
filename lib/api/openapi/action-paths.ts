import type { Gate } from '../../contracts/index.ts';
import type { Action } from '../actions/define-action.ts';
import { pathsOf } from '../actions/action-index.ts';
import { needsInput, OBJECT_ID_SCHEMA } from '../actions/schemas.ts';
import { schemaReference } from './action-schemas.ts';
import { json, object, parameter } from './components.ts';
import type { OpenApiPart, OpenApiPath } from './components.ts';
import { data, problemResponses, REPLAYED, WRITE_PROBLEMS } from './responses.ts';

export interface ActionPathsOptions {
  readonly gate: Pick<Gate, 'permissions'>;
  /** The largest number of items of a bulk. */
  readonly maximum: (action: Action) => number;
}

/** A path for each action, and one for its bulk. */
export function actionPaths(
  actions: readonly Action[],
  options: ActionPathsOptions,
): Record<string, OpenApiPath> {
  return Object.fromEntries(
    actions.flatMap((action) => {
      const { execute, bulk } = pathsOf(action);
      return [
        [execute, { post: executeOperation(action, options) }],
        [bulk, { post: bulkOperation(action, options) }],
      ];
    }),
  );
}

function executeOperation(action: Action, { gate }: ActionPathsOptions): OpenApiPart {
  return {
    ...actionMetadata(action, gate),
    operationId: `${action.type}.${action.name}`,
    summary: action.title,
    ...(action.description !== undefined && { description: action.description }),
    parameters: [...(action.level === 'instance' ? [parameter('id')] : []), parameter('idempotencyKey')],
    requestBody: {
      required: needsInput(action.inputSchema),
      content: json(schemaReference(action, 'input')),
    },
    responses: {
      200: { ...data('Done.', schemaReference(action, 'output')), headers: REPLAYED },
      ...problemResponses(WRITE_PROBLEMS),
    },
  };
}

function bulkOperation(action: Action, { gate, maximum }: ActionPathsOptions): OpenApiPart {
  return {
    ...actionMetadata(action, gate),
    operationId: `${action.type}.${action.name}.bulk`,
    summary: `${action.title}, many times`,
    description:
      'Runs the items independently, or all of them in one transaction. In independent mode the status is 200 even if items fail; the problem of an item is in its result.',
    parameters: [parameter('idempotencyKey')],
    requestBody: { required: true, content: json(bulkRequest(action, maximum(action))) },
    responses: {
      200: {
        description:
          'The result of each item, in the order of the items. As application/x-ndjson, one line per result as it finishes, and a last line with the counts; atomic bulks and requests with an Idempotency-Key send all lines at the end.',
        headers: REPLAYED,
        content: { ...json(bulkResponse(action)), 'application/x-ndjson': { schema: LINES } },
      },
      // The 429 is for callers who are already being sent too many streams.
      ...problemResponses([...WRITE_PROBLEMS, 'TooManyRequests']),
    },
  };
}

const LINES: OpenApiPart = {
  type: 'string',
  description: 'Lines of JSON: a member of `results` for each item, then `succeeded` and `failed`.',
};

function actionMetadata({ type, permission }: Action, gate: ActionPathsOptions['gate']): OpenApiPart {
  return {
    tags: [type],
    'x-permission': { name: permission, description: gate.permissions[permission]!.description },
  };
}

function bulkRequest(action: Action, maximum: number): OpenApiPart {
  const isInstance = action.level === 'instance';
  const input = { input: schemaReference(action, 'input') };
  return object(
    {
      items: {
        type: 'array',
        description: `Up to ${maximum}, each with the \`input\`${isInstance ? ' and the `id` of the object' : ''}.`,
        minItems: 1,
        maxItems: maximum,
        items: object(
          isInstance ? { id: OBJECT_ID_SCHEMA, ...input } : input,
          needsInput(action.inputSchema) ? [] : ['input'],
        ),
      },
      mode: {
        enum: ['independent', 'atomic'],
        description:
          '`independent` (default): each item separately; items with the same id run one after the other. `atomic`: in order and in one transaction, all or none; if one fails, the response is its problem.',
      },
      dryRun: {
        type: 'boolean',
        description:
          'Change nothing. `independent` then only checks the items; `atomic` runs them and rolls back.',
      },
    },
    ['mode', 'dryRun'],
  );
}

function bulkResponse(action: Action): OpenApiPart {
  const index = { type: 'integer' };
  return object({
    data: object({
      mode: { enum: ['independent', 'atomic'] },
      dryRun: { type: 'boolean' },
      succeeded: { type: 'integer' },
      failed: { type: 'integer' },
      results: {
        type: 'array',
        items: {
          anyOf: [
            object({ index, status: { const: 200 }, output: schemaReference(action, 'output') }, ['output']),
            object({
              index,
              status: { type: 'integer', minimum: 400 },
              problem: { $ref: '#/components/schemas/Problem' },
            }),
          ],
        },
      },
    }),
  });
}

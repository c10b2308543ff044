import { json, problemResponses, READ_PROBLEMS } from './components.ts';
import type { OpenApiPart, OpenApiPath } from './document.ts';

/** The paths that every API has. The planned ones of the Objects API are not available, and not among them. */
export const OWN_PATHS: Readonly<Record<string, OpenApiPath>> = {
  '/identity': {
    get: {
      operationId: 'identity',
      summary: 'Who the token speaks for, and what it may do',
      tags: ['Identity'],
      responses: {
        200: data('The identity.', { $ref: '#/components/schemas/Identity' }),
        ...problemResponses(READ_PROBLEMS),
      },
    },
  },
  '/actions': {
    get: {
      operationId: 'listActions',
      summary: 'The actions that the caller may run',
      tags: ['Actions'],
      responses: {
        200: data('A list.', { type: 'array', items: { $ref: '#/components/schemas/Action' } }),
        ...problemResponses(READ_PROBLEMS),
      },
    },
  },
  '/actions/{type}/{action}': {
    get: {
      operationId: 'describeAction',
      summary: 'One action, with the JSON Schemas of its input and output',
      tags: ['Actions'],
      parameters: ['type', 'action'].map((name) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      responses: {
        200: data('The action, with `input` and `output`.', { $ref: '#/components/schemas/Action' }),
        ...problemResponses([...READ_PROBLEMS, 'PermissionMissing', 'NotFound']),
      },
    },
  },
};

function data(description: string, schema: OpenApiPart): OpenApiPart {
  return {
    description,
    content: json({ type: 'object', required: ['data'], properties: { data: schema } }),
  };
}

import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { ApiRouterOptions } from '../../lib/api/router.ts';
import { ActionError } from '../../lib/errors.ts';
import { createPlatform, person } from '../access/platform.ts';
import type { Permission, Person } from '../access/platform.ts';
import { request } from '../harness/requests.ts';
import type { ApiAnswer } from '../harness/requests.ts';
import { authOf, serveApi } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

interface Document {
  readonly openapi: string;
  readonly info: object;
  readonly servers: { url: string }[];
  readonly security: object[];
  readonly paths: Record<string, Record<string, { operationId: string; responses: object }>>;
  readonly components: Record<string, Record<string, object>>;
}

interface DescribedResponse {
  readonly $ref?: string;
  readonly content?: object;
  readonly headers?: object;
}

const { create, rename, grade } = schoolActions();
const ACTIONS = [create, rename, grade];
const SCHOOLS = {
  get: { operationId: 'listSchools', summary: 'All schools', responses: { 200: { description: 'OK' } } },
};

async function documentOf(
  t: ExecutionContext,
  options: Omit<ApiRouterOptions<Permission, Person>, 'auth'> = {},
): Promise<Document> {
  const openapi = { access: 'public', ...options.openapi } as const;
  const { call } = await serveApi(t, { actions: ACTIONS, ...options, openapi });
  const { status, type, body } = await call('/openapi.json');
  t.is(status, 200);
  t.is(type, 'application/json; charset=utf-8');
  return body as unknown as Document;
}

/** Checks a document with an independent validator. */
async function isValid(t: ExecutionContext, document: Document): Promise<void> {
  const validator = new Validator();
  const { valid, errors } = await validator.validate({ ...structuredClone(document) });
  t.true(valid, JSON.stringify(errors));
  t.is(validator.version, '3.1');
}

test('the document is valid, also without actions', async (t) => {
  await isValid(t, await documentOf(t, { actions: [], session: true }));
});

test('the document has all paths except the Objects API', async (t) => {
  const document = await documentOf(t, {
    openapi: { paths: { '/schools': SCHOOLS }, description: 'Schools.' },
  });
  await isValid(t, document);
  const { paths } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  t.deepEqual(operations, [
    'GET /identity',
    'GET /actions',
    'GET /actions/{type}',
    'GET /actions/{type}/{action}',
    'POST /actions/school/create-school-action',
    'POST /actions/school/create-school-action/bulk',
    'POST /actions/school/{id}/rename-school-action',
    'POST /actions/school/rename-school-action/bulk',
    'POST /actions/school/{id}/grade-school-action',
    'POST /actions/school/grade-school-action/bulk',
    'GET /schools',
  ]);
  const ids = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  t.is(new Set(ids).size, ids.length);
});

test('only an API that accepts login sessions names their cookie', async (t) => {
  const tokensOnly = await documentOf(t);
  t.false('session' in tokensOnly.components['securitySchemes']!);

  const { security, components } = await documentOf(t, { session: true });
  t.deepEqual(security, [{ oauth2: [] }, { bearer: [] }, { session: [] }]);
  t.like(components['securitySchemes'], {
    session: { type: 'apiKey', in: 'cookie', name: 'gatehouse_session' },
  });
});

test("the document has the server's URL and the OAuth flows", async (t) => {
  const { openapi, info, servers, security, components } = await documentOf(t, {
    openapi: { title: 'Schools', version: '2024-06', description: 'All about schools.' },
  });
  t.is(openapi, '3.1.1');
  t.deepEqual(info, { title: 'Schools', version: '2024-06', description: 'All about schools.' });
  t.deepEqual(servers, [{ url: 'https://platform.example/api/v1' }]);
  t.deepEqual(security, [{ oauth2: [] }, { bearer: [] }]);
  const words = {
    'schools:read': 'May schools:read',
    'grades:read': 'May grades:read',
    profile: 'May profile',
  };
  t.like(components['securitySchemes'], {
    oauth2: {
      type: 'oauth2',
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://platform.example/oauth/authorize',
          tokenUrl: 'https://platform.example/oauth/token',
          refreshUrl: 'https://platform.example/oauth/token',
          scopes: words,
        },
        clientCredentials: { tokenUrl: 'https://platform.example/oauth/token', scopes: words },
      },
    },
    bearer: { type: 'http', scheme: 'bearer' },
  });
});

test('the URL is the public one, behind a proxy that removes a path and with a prefix', async (t) => {
  const platform = createPlatform();
  const auth = authOf(platform, '/auth');
  for (const [changes, url] of [
    [{}, 'https://platform.example/auth/api/v1'],
    [{ auth: authOf(platform, '/auth', { mountPath: '' }) }, 'https://platform.example/auth/api/v1'],
    [{ prefix: '/authors/v1' }, 'https://platform.example/authors/v1'],
    [{ prefix: '/auth/v2' }, 'https://platform.example/auth/v2'],
  ] as const) {
    const options = { auth, openapi: { access: 'public' }, ...changes } as const;
    const { origin } = await serveApi(t, options);
    const prefix = 'prefix' in options ? options.prefix : options.auth === auth ? '/auth/api/v1' : '/api/v1';
    const { body } = await request(`${origin}${prefix}/openapi.json`);
    t.deepEqual(body['servers'], [{ url }]);
  }
});

test('responses match the document', async (t) => {
  const document = await documentOf(t);
  const { call, platform, post } = await serveApi(t, { actions: ACTIONS });
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  const fits = (component: string, value: unknown) => {
    const validate = ajv.getSchema(`document#/components/schemas/${component}`)!;
    t.true(validate(value), `${component}: ${JSON.stringify(validate.errors)}`);
  };
  const answerOf = (path: string) => {
    const pointer = path.replaceAll('~', '~0').replaceAll('/', '~1');
    return ajv.compile({
      $ref: `document#/paths/${encodeURIComponent(pointer)}/post/responses/200/content/application~1json/schema`,
    });
  };
  for (const token of [await platform.userToken(), await platform.clientToken({ scope: 'grades:read' })]) {
    const { body } = await call('/identity', token);
    fits('Identity', body['data']);
  }
  const token = await platform.userToken();
  const { body: list } = await call('/actions', token);
  for (const action of list['data'] as object[]) fits('Action', action);
  const { body: one } = await call('/actions/school/rename-school-action', token);
  fits('Action', one['data']);

  const created = await post('/actions/school/create-school-action', { name: 'Hill School' });
  t.true(answerOf('/actions/school/create-school-action')(created.body));
  t.false(answerOf('/actions/school/create-school-action')({ data: { id: 7 } }));
  const bulk = await post('/actions/school/create-school-action/bulk', {
    items: [{ input: { name: 'Hill School' } }, {}],
  });
  const fitsBulk = answerOf('/actions/school/create-school-action/bulk');
  t.true(fitsBulk(bulk.body), JSON.stringify(fitsBulk.errors));
  for (const problem of [
    await post('/actions/school/create-school-action', {}),
    await post('/actions/school/create-school-action', '{'),
    await post('/actions/school/create-school-action', {}, { 'idempotency-key': 'a b' }),
    await post('/actions/school/7/grade-school-action'),
    await post('/actions/nothing/at-all-action'),
    await call('/identity'),
  ]) {
    t.is(problem.type, 'application/problem+json; charset=utf-8');
    fits('Problem', problem.body);
  }
});

test('the document has the statuses, media types and header fields of the responses', async (t) => {
  const close = defineAction({
    ...PLAIN,
    name: 'close-school-action',
    run() {
      throw new ActionError(410, 'school_gone', 'The school is gone.');
    },
  });
  const options = { actions: [...ACTIONS, close], session: true };
  const { components, paths } = (await documentOf(t, options)) as unknown as {
    components: { responses: Record<string, DescribedResponse> };
    paths: Record<string, Record<string, { responses: Record<string, DescribedResponse> }>>;
  };
  const { call, platform, post } = await serveApi(t, options);
  function compare(path: string, answer: ApiAnswer): void {
    const { responses } = Object.values(paths[path]!)[0]!;
    const found = responses[answer.status] ?? responses['4XX'];
    const response = components.responses[found?.$ref?.split('/').at(-1) ?? ''] ?? found;
    const about = `${path} ${answer.status}`;
    t.truthy(response, about);
    t.true(Object.keys(response!.content!).includes(answer.type!.split(';')[0]!), `${about} ${answer.type}`);
    for (const name of ['Idempotent-Replayed', 'Retry-After', 'WWW-Authenticate'])
      if (answer.headers.has(name)) t.true(name in (response!.headers ?? {}), `${about} ${name}`);
  }

  const CREATE = '/actions/school/create-school-action';
  const CLOSE = '/actions/school/close-school-action';
  const key = { 'idempotency-key': 'one' };
  const school = { name: 'Hill School' };
  const bulk = { items: [{ input: school }] };
  const expected: [path: string, status: number, answer: ApiAnswer][] = [
    ['/identity', 200, await call('/identity', await platform.userToken())],
    ['/identity', 401, await call('/identity')],
    ['/identity', 400, await call(`/identity?${'a&'.repeat(200)}`)],
    [CREATE, 200, await post(CREATE, school, key)],
    [CREATE, 200, await post(CREATE, school, key)],
    [CREATE, 409, await post(CREATE, { name: 'Harbour School' }, key)],
    [CREATE, 400, await post(CREATE, '{')],
    [CREATE, 413, await post(CREATE, { name: 'x'.repeat(70_000) })],
    [CREATE, 415, await post(CREATE, 'x', { 'content-type': 'text/plain' })],
    [CREATE, 422, await post(CREATE, {})],
    ['/actions/school/{id}/grade-school-action', 403, await post('/actions/school/7/grade-school-action')],
    [CLOSE, 410, await post(CLOSE, {}, { 'idempotency-key': 'two' })],
    [CLOSE, 410, await post(CLOSE, {}, { 'idempotency-key': 'two' })],
    [`${CREATE}/bulk`, 200, await post(`${CREATE}/bulk`, bulk)],
    [`${CREATE}/bulk`, 200, await post(`${CREATE}/bulk`, bulk, { accept: 'application/x-ndjson' })],
  ];
  for (const [path, status, answer] of expected) {
    t.is(answer.status, status, `${path}: ${answer.text}`);
    compare(path, answer);
  }
  // A body that is late, a caller with many streams, and a page of another origin, which other tests send.
  for (const [path, statuses] of [
    [CREATE, [408]],
    [`${CREATE}/bulk`, [408, 429]],
    ['/identity', [403]],
  ] as const) {
    const { responses } = Object.values(paths[path]!)[0]!;
    for (const status of statuses) t.true(status in responses, `${path} ${status}`);
  }
  for (const [name, header] of [
    ['Unauthorized', 'WWW-Authenticate'],
    ['PermissionMissing', 'WWW-Authenticate'],
    ['Unavailable', 'Retry-After'],
    ['TooManyRequests', 'Retry-After'],
  ] as const)
    t.true(header in components.responses[name]!.headers!, name);
});

test('each tag of an operation is described once', async (t) => {
  const tagged = { get: { ...SCHOOLS.get, tags: ['Schools', 'Actions'] } };
  const document = await documentOf(t, { openapi: { paths: { '/schools': tagged } } });
  t.deepEqual((document as unknown as { tags: object }).tags, [
    { name: 'Identity', description: 'Who the caller is.' },
    { name: 'Actions', description: 'What the caller may do.' },
    { name: 'school' },
    { name: 'Schools' },
  ]);
  await isValid(t, document);
});

test('recursive schemas keep their references', async (t) => {
  interface Tree {
    name: string;
    children: Tree[];
  }
  const Tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(Tree) }));
  const plant = defineAction({
    ...PLAIN,
    type: 'tree',
    name: 'plant-tree-action',
    input: z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    }),
    output: z.object({ tree: Tree, spare: Tree.optional() }),
    run: ({ input }) => ({ tree: input }),
  });
  const document = await documentOf(t, { actions: [plant] });
  await isValid(t, document);
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(document, 'document');
  for (const side of ['input', 'output']) {
    const validate = ajv.getSchema(`document#/components/schemas/tree.plant-tree-action.${side}`)!;
    const tree = { name: 'a', children: [{ name: 'b', children: [] }] };
    const broken = { name: 'a', children: [{ name: 'b', children: [{ name: 1, children: [] }] }] };
    t.true(validate(side === 'input' ? tree : { tree }));
    t.false(validate(side === 'input' ? broken : { tree: broken }));
  }
  t.notRegex(JSON.stringify(document), /"\$ref":"#(?!\/components\/)/);
});

const PATHS = ['/openapi.json', '/docs', '/docs.css'];

test('the document requires a token unless it is public, and can be turned off', async (t) => {
  const guarded = await serveApi(t, { actions: ACTIONS, openapi: { viewer: false } });
  const open = await serveApi(t, { actions: ACTIONS, openapi: { access: 'public', viewer: false } });
  const off = await serveApi(t, { openapi: false });
  for (const path of PATHS) {
    const refused = await guarded.call(path);
    t.is(refused.status, 401, path);
    t.is(refused.body['code'], 'token_missing');
    t.is((await guarded.call(path, await guarded.platform.userToken())).status, 200);
    t.is((await open.call(path)).status, 200);
    t.is((await off.call(path)).status, 401);
    t.is((await off.call(path, await off.platform.userToken())).status, 404);
  }
});

test('a guarded document has only what the caller may call', async (t) => {
  const paths = {
    '/schools': { get: { ...SCHOOLS.get, 'x-permission': { name: 'view_schools', description: 'View' } } },
    '/grades': {
      summary: {},
      get: { operationId: 'listGrades', 'x-permission': { name: 'view_grades' }, responses: {} },
      post: { operationId: 'addGrade', responses: {} },
    },
    '/marks': { get: { operationId: 'listMarks', 'x-permission': { name: 'view_grades' }, responses: {} } },
  };
  const { call, platform } = await serveApi(t, {
    actions: ACTIONS,
    openapi: { paths, viewer: false },
  });
  const readWith = async (token: string) => {
    const { body, headers } = await call('/openapi.json', token);
    const { text } = await call('/docs', token);
    const document = body as unknown as Document;
    const actions = Object.keys(document.paths).filter((path) => path.endsWith('-action'));
    return { actions, document, etag: headers.get('etag'), text };
  };
  const user = await readWith(await platform.userToken());
  t.deepEqual(user.actions, [
    '/actions/school/create-school-action',
    '/actions/school/{id}/rename-school-action',
  ]);
  t.deepEqual(Object.keys(user.document.paths['/grades']!), ['summary', 'post']);
  t.true('/schools' in user.document.paths);
  t.notRegex(JSON.stringify(user.document), /grade-school|view_grades|listGrades|marks/i);
  t.true(user.text.includes('rename-school-action'));
  t.notRegex(user.text, /grade-school|view_grades|marks/i);

  const client = await readWith(await platform.clientToken());
  t.deepEqual(client.actions, []);
  t.not(client.etag, user.etag);
  t.notRegex(JSON.stringify(client.document), /create-school|edit_schools/);
  t.notRegex(client.text, /create-school|edit_schools/);

  platform.users.set('ann', person({ permissions: ['view_grades'] }));
  platform.clock.time += 60_000;
  const promoted = await readWith(await platform.userToken());
  t.is(promoted.actions.length, 3);
  t.deepEqual(Object.keys(promoted.document.paths['/grades']!), ['summary', 'get', 'post']);
  t.true('/marks' in promoted.document.paths);
});

test("the document has an ETag, and a caller's own document is not cached by shared caches", async (t) => {
  for (const [access, cacheControl] of [
    ['public', 'no-cache'],
    ['guarded', 'private, no-cache'],
  ] as const) {
    const { call, platform } = await serveApi(t, { openapi: { access, viewer: false } });
    const token = access === 'guarded' ? await platform.userToken() : undefined;
    for (const path of PATHS) {
      const first = await call(path, token);
      t.is(first.headers.get('cache-control'), cacheControl);
      const again = await call(path, token, {
        // Without the second header, fetch() would bypass the cache.
        headers: { 'if-none-match': first.headers.get('etag')!, 'cache-control': 'max-age=0' },
      });
      t.is(again.status, 304);
      t.is((await call(path, token, { method: 'HEAD' })).status, 200);
    }
  }
});

test('a path of the host may have a summary and parameters for all its operations', async (t) => {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
  const path = { summary: 'One school', parameters: [id], ...SCHOOLS };
  const openapi = { access: 'public', paths: { '/schools/{id}': path } } as const;
  const document = await documentOf(t, { openapi });
  await isValid(t, document);
  const { get, ...others } = document.paths['/schools/{id}']!;
  t.deepEqual(others, { summary: 'One school', parameters: [id] } as object);
  t.deepEqual(Object.keys(get!.responses), ['200', '400', '401', '500', '503']);
});

import test from '../harness/test.ts';

import { createApiRouter } from '../../lib/api/router.ts';
import { ConfigError } from '../../lib/errors.ts';
import { createPlatform, gate } from '../access/platform.ts';
import { authOf } from './api.ts';
import { schoolActions } from './school-actions.ts';

const { rename } = schoolActions();
const auth = authOf(createPlatform());
const OPERATION = { responses: {} };

/** The option that the error names, the remedy, and options that are refused besides `auth`. */
const refused: readonly [option: string, remedy: string, given: object[]][] = [
  [
    'action',
    'there is no such option; did you mean actions? The options are auth, resource, session, origins, prefix, actions, maxBodyBytes, bulk, uploads, limits, parseBodies, openapi',
    [{ action: [] }],
  ],
  [
    'auth',
    'pass the server that createAuthServer() resolved to',
    [undefined, null, { gate, guard: () => auth.guard(), issuer: auth.issuer }].map((server) => ({
      auth: server,
    })),
  ],
  [
    'prefix',
    "give a path with a leading and no trailing slash, such as '/api/v1'",
    [
      5,
      null,
      ['/api'],
      '',
      '/',
      'api',
      '/api/',
      '/:tenant/api',
      '/api/{v1}',
      '/a//b',
      '/api*',
      '/api?x=1',
    ].map((prefix) => ({ prefix })),
  ],
  [
    'origins',
    'give origins without a path, such as https://app.example',
    [['https://app.example/'], ['app.example'], ['null']].map((origins) => ({ origins })),
  ],
  ['origins', 'give an array of strings', ['https://app.example', true, [5]].map((origins) => ({ origins }))],
  [
    'actions',
    'list the actions in an array: [defineAction({ ... })]',
    [null, {}, 'rename-school-action', rename].map((actions) => ({ actions })),
  ],
  [
    'actions[1]',
    'pass what defineAction() returned',
    [null, {}, { type: 'school', name: 'rename-school-action', run() {} }].map((action) => ({
      actions: [rename, action],
    })),
  ],
  [
    'actions',
    'school/rename-school-action is defined twice; remove or rename one',
    [{ actions: [rename, rename] }],
  ],
  [
    'rename-school-action.permission',
    'the gate has no permission "edit_school"; define it or correct the name',
    [{ actions: [Object.freeze({ ...rename, permission: 'edit_school' })] }],
  ],
  ['maxBodyBytes', 'give a whole number of at least 1', [{ maxBodyBytes: 0 }, { maxBodyBytes: '1mb' }]],
  [
    'bulk',
    'pass an object with some of maxItems, concurrency, maxBodyBytes, streamTimeout',
    [{ bulk: null }, { bulk: [] }],
  ],
  ['bulk.maxItems', 'give a whole number of at least 1', [{ bulk: { maxItems: -1 } }]],
  ['bulk.concurrency', 'give a whole number of at least 1', [{ bulk: { concurrency: 1.5 } }]],
  ['bulk.maxBodyBytes', 'give a whole number of at least 1', [{ bulk: { maxBodyBytes: Infinity } }]],
  ['uploads', 'pass an object with some of maxBodyBytes, maxFiles, maxFields', [{ uploads: false }]],
  [
    'uploads.maxFileSize',
    'there is no such option; the options are maxBodyBytes, maxFiles, maxFields',
    [{ uploads: { maxFileSize: 5 } }],
  ],
  ['uploads.maxBodyBytes', 'give a whole number of at least 1', [{ uploads: { maxBodyBytes: 0 } }]],
  ['uploads.maxFiles', 'give a whole number of at least 1', [{ uploads: { maxFiles: 1.5 } }]],
  ['limits', 'pass an object with some of user, client, action', [{ limits: null }, { limits: 5 }]],
  [
    'limits.perUser',
    'there is no such option; the options are user, client, action',
    [{ limits: { perUser: { requests: 5, window: 1 } } }],
  ],
  ['limits.user', 'pass an object with some of requests, window', [{ limits: { user: 600 } }]],
  [
    'limits.client.requests',
    'give a whole number from 1 to 1000000000',
    [0, 1.5, '600', undefined, 1e10].map((requests) => ({
      limits: { client: { requests, window: '1 minute' } },
    })),
  ],
  [
    'limits.action.window',
    "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least 1 s",
    [0, '500 ms', undefined].map((window) => ({ limits: { action: { requests: 5, window } } })),
  ],
  ['limits.user.window', 'give at most 1 day', [{ limits: { user: { requests: 5, window: '2 days' } } }]],
  ['parseBodies', 'pass true or false', [{ parseBodies: null }, { parseBodies: 'no' }]],
  [
    'openapi',
    'pass an object with some of title, version, description, access, viewer, paths, or false for none',
    [null, true, [], 'public'].map((openapi) => ({ openapi })),
  ],
  [
    'openapi.acces',
    'there is no such option; did you mean access? The options are title, version, description, access, viewer, paths',
    [{ openapi: { acces: 'public' } }],
  ],
  ['openapi.access', 'choose public or guarded', [{ openapi: { access: 'open' } }]],
  ['openapi.title', 'give a text, or leave it out', [{ openapi: { title: ' ' } }, { openapi: { title: 2 } }]],
  ['openapi.description', 'give a text, or leave it out', [{ openapi: { description: 2 } }]],
  [
    'openapi.paths',
    "pass an object with the paths as keys, such as { '/schools': { get: { ... } } }",
    [null, [], 'schools'].map((paths) => ({ openapi: { paths } })),
  ],
  [
    'openapi.paths./identity',
    'the API router describes this path itself; leave it out',
    [{ openapi: { paths: { '/identity': { get: OPERATION } } } }],
  ],
  [
    'openapi.paths.schools',
    'begin the path with a slash, and leave the prefix of the API out',
    [{ openapi: { paths: { schools: {} } } }],
  ],
  [
    'openapi.paths./schools',
    'pass an object with the operations by method, such as { get: { ... } }',
    [{ openapi: { paths: { '/schools': [] } } }],
  ],
  [
    'openapi.paths./schools.get',
    "pass an operation, such as { summary: 'List schools', responses: { ... } }",
    [5, null, []].map((get) => ({ openapi: { paths: { '/schools': { get } } } })),
  ],
  [
    'openapi.paths./schools.GET',
    'write the method in lower case',
    [{ openapi: { paths: { '/schools': { GET: {} } } } }],
  ],
  [
    'openapi.paths./schools.get.x-permission',
    "name a permission of the gate, such as { name: 'view_schools' }",
    ['view_schools', {}, { name: 'veiw_schools' }].map((permission) => ({
      openapi: { paths: { '/schools': { get: { 'x-permission': permission } } } },
    })),
  ],
];

test('a wrong option of a router is a ConfigError with the remedy', (t) => {
  for (const [option, remedy, all] of refused) {
    for (const given of all) {
      const expected = { instanceOf: ConfigError, code: 'ERR_CONFIG', message: `${option}: ${remedy}` };
      t.throws(() => Reflect.apply(createApiRouter, undefined, [{ auth, ...given }]), expected);
    }
  }
  for (const options of [undefined, null, 5, [auth]]) {
    t.throws(() => Reflect.apply(createApiRouter, undefined, [options]), {
      instanceOf: ConfigError,
      message: /^options: pass an object with some of auth, resource, session, origins, prefix, /,
    });
  }
});

test('options that are undefined have their defaults, and two types may have actions of one name', (t) => {
  const absent = { prefix: undefined, maxBodyBytes: undefined, parseBodies: undefined };
  const parts = { bulk: { maxItems: undefined }, openapi: { title: undefined, paths: undefined } };
  const actions = [rename, Object.freeze({ ...rename, type: 'college' })];
  t.notThrows(() => Reflect.apply(createApiRouter, undefined, [{ auth, ...absent, ...parts, actions }]));
});

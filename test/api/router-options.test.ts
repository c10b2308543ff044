import test from 'ava';

import { createApiRouter } from '../../lib/api/router.ts';
import { ConfigError } from '../../lib/errors.ts';
import { createPlatform } from '../access/platform.ts';
import { authOf } from './api.ts';
import { schoolActions } from './school-actions.ts';

const OPENAPI = 'openapi';
const { rename } = schoolActions();

/** The options besides `auth`, and the message of the error. */
const mistakes: readonly [given: object, message: string][] = [
  [
    { action: [] },
    'action: there is no such option; did you mean actions? The options are auth, resource, session, prefix, actions, bodyLimit, bulk, uploads, limits, parseBodies, openapi',
  ],
  [{ auth: undefined }, 'auth: pass the server that createAuthServer() resolved to'],
  [{ auth: null }, 'auth: pass the server that createAuthServer() resolved to'],
  ...[5, null, ['/api']].map((prefix): [object, string] => [
    { prefix },
    "prefix: give a path with a leading and no trailing slash, such as '/api/v1'",
  ]),
  ...[null, {}, 'rename-school-action', rename].map((actions): [object, string] => [
    { actions },
    'actions: list the actions in an array: [defineAction({ ... })]',
  ]),
  ...[null, 5, {}, { type: 'school', name: 'rename-school-action', run() {} }].map(
    (action): [object, string] => [
      { actions: [rename, action] },
      'actions[1]: pass what defineAction() returned',
    ],
  ),
  ...[null, 5, [], 'many'].map((bulk): [object, string] => [
    { bulk },
    'bulk: pass an object with some of maximum, concurrency, bodyLimit',
  ]),
  [
    { bulk: { maxItems: 5 } },
    'bulk.maxItems: there is no such option; the options are maximum, concurrency, bodyLimit',
  ],
  [{ bulk: { maximum: null } }, 'bulk.maximum: give a whole number of at least 1'],
  [
    { uploads: { maxFileSize: 5 } },
    'uploads.maxFileSize: there is no such option; the options are bodyLimit, maxFiles, maxFields',
  ],
  ...[null, 5, []].map((limits): [object, string] => [
    { limits },
    'limits: pass an object with some of user, client, action',
  ]),
  [
    { limits: { perUser: { requests: 5, per: 1 } } },
    'limits.perUser: there is no such option; the options are user, client, action',
  ],
  ...[null, 600].map((user): [object, string] => [
    { limits: { user } },
    'limits.user: pass an object with some of requests, per',
  ]),
  ...[0, 1.5, '600', undefined, 1e10].map((requests): [object, string] => [
    { limits: { client: { requests, per: '1 minute' } } },
    'limits.client.requests: give a whole number from 1 to 1000000000',
  ]),
  ...[0, '500 ms', undefined].map((per): [object, string] => [
    { limits: { action: { requests: 5, per } } },
    "limits.action.per: give seconds, or a number and a unit such as '1 hour' or '30 days'; at least 1 s",
  ]),
  [{ limits: { user: { requests: 5, per: '2 days' } } }, 'limits.user.per: give at most 1 day'],
  [{ uploads: false }, 'uploads: pass an object with some of bodyLimit, maxFiles, maxFields'],
  ...[null, 'no', 0].map((parseBodies): [object, string] => [
    { parseBodies },
    'parseBodies: pass true or false',
  ]),
  ...[null, true, [], 'public'].map((openapi): [object, string] => [
    { openapi },
    `${OPENAPI}: pass an object with some of title, version, description, access, viewer, paths, or false for none`,
  ]),
  [
    { openapi: { acces: 'public' } },
    `${OPENAPI}.acces: there is no such option; did you mean access? The options are title, version, description, access, viewer, paths`,
  ],
  ...[null, true, 'open'].map((access): [object, string] => [
    { openapi: { access } },
    `${OPENAPI}.access: choose public or guarded`,
  ]),
  ...['title', 'version', 'description'].map((name): [object, string] => [
    { openapi: { [name]: 2 } },
    `${OPENAPI}.${name}: give a text, or leave it out`,
  ]),
  [{ openapi: { title: ' ' } }, `${OPENAPI}.title: give a text, or leave it out`],
  ...[null, [], 'schools'].map((paths): [object, string] => [
    { openapi: { paths } },
    `${OPENAPI}.paths: pass an object with the paths as keys, such as { '/schools': { get: { ... } } }`,
  ]),
  [
    { openapi: { paths: { schools: {} } } },
    `${OPENAPI}.paths.schools: begin the path with a slash, and leave the prefix of the API out`,
  ],
  [
    { openapi: { paths: { '/schools': [] } } },
    `${OPENAPI}.paths./schools: pass an object with the operations by method, such as { get: { ... } }`,
  ],
  ...[5, null, []].map((get): [object, string] => [
    { openapi: { paths: { '/schools': { get } } } },
    `${OPENAPI}.paths./schools.get: pass an operation, such as { summary: 'List schools', responses: { ... } }`,
  ]),
  [
    { openapi: { paths: { '/schools': { GET: {} } } } },
    `${OPENAPI}.paths./schools.GET: write the method in lower case`,
  ],
  ...['view_schools', {}, { name: 'veiw_schools' }].map((permission): [object, string] => [
    { openapi: { paths: { '/schools': { get: { 'x-permission': permission } } } } },
    `${OPENAPI}.paths./schools.get.x-permission: name a permission of the gate, such as { name: 'view_schools' }`,
  ]),
];

for (const [given, message] of mistakes) {
  test(`a wrong option is named, with the remedy: ${JSON.stringify(given)} ${message}`, (t) => {
    const auth = authOf(createPlatform());
    t.throws(() => Reflect.apply(createApiRouter, undefined, [{ auth, ...given }]), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message,
    });
  });
}

test('options that are no object are refused', (t) => {
  for (const options of [undefined, null, 5, [authOf(createPlatform())]]) {
    t.throws(() => Reflect.apply(createApiRouter, undefined, [options]), {
      instanceOf: ConfigError,
      message: /^options: pass an object with some of auth, resource, session, prefix, /,
    });
  }
});

test('options that are undefined have their defaults', (t) => {
  const auth = authOf(createPlatform());
  const absent = { prefix: undefined, actions: undefined, bodyLimit: undefined, parseBodies: undefined };
  const parts = {
    bulk: { maximum: undefined },
    uploads: { maxFiles: undefined },
    openapi: { title: undefined, access: undefined, paths: undefined },
  };
  t.notThrows(() => Reflect.apply(createApiRouter, undefined, [{ auth, ...absent, ...parts }]));
});

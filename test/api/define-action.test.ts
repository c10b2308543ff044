import test from 'ava';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { ActionDefinition } from '../../lib/api/actions/define-action.ts';
import type { ActionSchema } from '../../lib/api/actions/schemas.ts';
import { createApiRouter } from '../../lib/api/router.ts';
import { ActionError, ConfigError } from '../../lib/errors.ts';
import { createPlatform, gate } from '../access/platform.ts';
import { authOf } from './api.ts';
import { schoolActions } from './school-actions.ts';

type Definition = ActionDefinition<string, 'collection' | 'instance', ActionSchema, ActionSchema, unknown>;

const FINE: Definition = {
  type: 'school',
  name: 'rename-school-action',
  level: 'instance',
  title: 'Rename a school',
  permission: 'edit_schools',
  input: z.object({ name: z.string() }),
  output: z.object({ name: z.string() }),
  run: () => ({ name: '' }),
};

test('an invalid definition is a ConfigError that names the action and the remedy', (t) => {
  const cases: [object, string][] = [
    ...[
      'renameSchoolAction',
      'rename-school',
      '-action',
      'Rename-action',
      'rename--action',
      'action',
      'a_b-action',
      'a/b-action',
      undefined,
    ].map((name): [object, string] => [{ name }, wrongName(name)]),
    [
      { type: 'School' },
      'rename-school-action.type: write it as lower-case words joined by hyphens, such as school',
    ],
    [
      { type: 'a/b' },
      'rename-school-action.type: write it as lower-case words joined by hyphens, such as school',
    ],
    [{ level: 'object' }, "rename-school-action.level: give 'collection' or 'instance'"],
    [{ title: ' ' }, 'rename-school-action.title: say in a few words what it does'],
    [
      { permission: undefined },
      'rename-school-action.permission: name the permission that a caller must hold',
    ],
    [
      { gate, permission: 'edit_school' },
      'rename-school-action.permission: the gate has no permission "edit_school"; define it or correct the name',
    ],
    [{ run: undefined }, 'rename-school-action.run: make it a function'],
    [
      { databse: {} },
      'rename-school-action.databse: there is no such option; did you mean database? The options are gate, type, name, level, title, description, permission, input, output, database, mcp, readOnly, destructive, idempotent, limit, run',
    ],
    ...[null, 5, ' '].map((description): [object, string] => [
      { description },
      'rename-school-action.description: describe it in a sentence or two, or leave it out',
    ]),
    ...[null, {}, 'gate'].map((wrong): [object, string] => [
      { gate: wrong },
      'rename-school-action.gate: pass the result of defineGate()',
    ]),
    [
      { input: undefined },
      'rename-school-action.input: give a schema that implements Standard Schema and Standard JSON Schema, such as one of zod 4',
    ],
    [
      { output: { type: 'object' } },
      'rename-school-action.output: give a schema that implements Standard Schema and Standard JSON Schema, such as one of zod 4',
    ],
    [
      { input: z.object({ since: z.date() }) },
      'rename-school-action.input: it cannot be converted to JSON Schema: Date cannot be represented in JSON Schema',
    ],
  ];
  for (const [change, message] of cases) {
    t.throws(() => defineAction({ ...FINE, ...change }), { instanceOf: ConfigError, message });
  }
});

test('a definition that is no object is a ConfigError', (t) => {
  for (const definition of [undefined, null, 'rename-school-action']) {
    t.throws(() => Reflect.apply(defineAction, undefined, [definition]), {
      instanceOf: ConfigError,
      message: 'defineAction(): pass the definition of the action as an object',
    });
  }
});

test('defineAction() infers the input, the output, the id by level, and the database', (t) => {
  const schema = z.object({ open: z.boolean().default(true) });
  const options = {
    type: 'school',
    title: 'x',
    permission: 'edit_schools',
    input: schema,
    output: z.object({ n: z.number() }),
  } as const;
  defineAction({
    ...options,
    name: 'open-action',
    level: 'instance',
    database: new Map<string, number>(),
    run({ input, id, database, principal }) {
      input.open satisfies boolean;
      id satisfies string;
      // @ts-expect-error there is no such member
      void input.closed;
      // @ts-expect-error a client has no user
      void principal.user.name;
      return { n: database.get(id) ?? 0 };
    },
  });
  // @ts-expect-error the output has a number
  defineAction({ ...options, name: 'open-action', level: 'collection', run: () => ({ n: '1' }) });
  defineAction({
    ...options,
    name: 'open-action',
    level: 'collection',
    run({ id, database }) {
      id satisfies undefined;
      database satisfies undefined;
      return { n: 1 };
    },
  });
  // @ts-expect-error a name ends in -action
  t.throws(() => defineAction({ ...options, name: 'open', level: 'collection', run: () => ({ n: 1 }) }));
});

test('an action runs with its definition as `this`', async (t) => {
  class Rename {
    readonly type = 'school';
    readonly name = 'rename-school-action';
    readonly level = 'instance';
    readonly title = 'Rename a school';
    readonly permission = 'edit_schools';
    readonly input = FINE.input;
    readonly output = FINE.output;

    run() {
      return { name: this.title };
    }
  }
  t.deepEqual(await defineAction(new Rename()).run({} as never), { name: 'Rename a school' });
});

test('an action is frozen', (t) => {
  t.true(Object.isFrozen(defineAction(FINE)));
});

test('a permission that the gate does not define is a compile error and a ConfigError', (t) => {
  const auth = authOf(createPlatform());
  const misspelt = defineAction({ ...FINE, permission: 'edit_school' as const });
  t.throws(
    () => {
      // @ts-expect-error the gate has edit_schools
      createApiRouter({ auth, actions: [misspelt] });
    },
    {
      instanceOf: ConfigError,
      message:
        'rename-school-action.permission: the gate has no permission "edit_school"; define it or correct the name',
    },
  );
});

test('an action defined twice is a ConfigError; the same name at another type is not', (t) => {
  const auth = authOf(createPlatform());
  const { rename } = schoolActions();
  t.throws(() => createApiRouter({ auth, actions: [rename, rename] }), {
    instanceOf: ConfigError,
    message: 'actions: school/rename-school-action is defined twice; remove or rename one',
  });
  t.notThrows(() =>
    createApiRouter({ auth, actions: [rename, Object.freeze({ ...rename, type: 'college' })] }),
  );
});

test('limits are positive whole numbers', (t) => {
  const auth = authOf(createPlatform());
  for (const [options, option] of [
    [{ bodyLimit: 0 }, 'bodyLimit'],
    [{ bodyLimit: '1mb' as unknown as number }, 'bodyLimit'],
    [{ bulk: { maximum: -1 } }, 'bulk.maximum'],
    [{ bulk: { concurrency: 1.5 } }, 'bulk.concurrency'],
    [{ bulk: { bodyLimit: Infinity } }, 'bulk.bodyLimit'],
    [{ uploads: { bodyLimit: 0 } }, 'uploads.bodyLimit'],
    [{ uploads: { maxFiles: 1.5 } }, 'uploads.maxFiles'],
  ] as const) {
    t.throws(() => createApiRouter({ auth, ...options }), {
      instanceOf: ConfigError,
      message: `${option}: give a whole number of at least 1`,
    });
  }
});

test('an ActionError has a status of 4xx', (t) => {
  t.like(new ActionError(409, 'school_closed', 'The school is closed.'), {
    status: 409,
    code: 'ERR_ACTION',
    problemCode: 'school_closed',
    message: 'The school is closed.',
  });
  for (const [status, code] of [
    [500, 'broken'],
    [200, 'fine'],
    [404, 'Not Found'],
    [404, ''],
  ] as const) {
    t.throws(() => new ActionError(status, code, 'x'), { instanceOf: ConfigError });
  }
});

function wrongName(name: unknown): string {
  return `defineAction(${JSON.stringify(name)}): write the name as lower-case words joined by hyphens, the last one "action", such as rename-school-action`;
}

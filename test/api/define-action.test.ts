import test from '../harness/test.ts';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { ActionDefinition } from '../../lib/api/actions/define-action.ts';
import type { ActionSchema } from '../../lib/api/actions/schemas.ts';
import { ActionError, ConfigError } from '../../lib/errors.ts';
import { gate } from '../access/platform.ts';

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

const SCHEMA = 'give a schema that implements Standard Schema and Standard JSON Schema, such as one of zod 4';

/** The member that the error names, the remedy, and values that are refused. */
const refused: readonly [member: string, remedy: string, values: unknown[]][] = [
  ['type', 'write it as lower-case words joined by hyphens, such as school', ['School', 'a/b']],
  ['level', "give 'collection' or 'instance'", ['object']],
  ['title', 'say in a few words what it does', [' ']],
  ['permission', 'name the permission that a caller must hold', [undefined]],
  ['run', 'make it a function', [undefined]],
  ['description', 'describe it in a sentence or two, or leave it out', [null, 5, ' ']],
  ['gate', 'pass the result of defineGate()', [null, {}, 'gate']],
  ['input', SCHEMA, [undefined]],
  ['output', SCHEMA, [{ type: 'object' }]],
  [
    'input',
    'it cannot be converted to JSON Schema: Date cannot be represented in JSON Schema',
    [z.object({ since: z.date() })],
  ],
  [
    'databse',
    'there is no such option; did you mean database? The options are gate, type, name, level, title, description, permission, object, input, output, database, mcp, readOnly, destructive, idempotent, limit, run',
    [{}],
  ],
];

test('an invalid definition is a ConfigError that names the action and the remedy', (t) => {
  for (const [member, remedy, values] of refused) {
    for (const value of values) {
      const expected = { instanceOf: ConfigError, message: `${FINE.name}.${member}: ${remedy}` };
      t.throws(() => defineAction({ ...FINE, [member]: value }), expected);
    }
  }
  t.throws(() => defineAction({ ...FINE, gate, permission: 'edit_school' }), {
    message:
      'rename-school-action.permission: the gate has no permission "edit_school"; define it or correct the name',
  });
  const names = ['renameSchoolAction', 'rename-school', '-action', 'Rename-action', 'rename--action'];
  for (const name of [...names, 'action', 'a_b-action', 'a/b-action', undefined]) {
    t.throws(() => defineAction({ ...FINE, name: name as never }), {
      instanceOf: ConfigError,
      message: `defineAction(${JSON.stringify(name)}): write the name as lower-case words joined by hyphens, the last one "action", such as rename-school-action`,
    });
  }
  for (const definition of [undefined, null, 'rename-school-action']) {
    t.throws(() => Reflect.apply(defineAction, undefined, [definition]), {
      instanceOf: ConfigError,
      message: 'defineAction(): pass the definition of the action as an object',
    });
  }
});

test('an action is frozen, and runs with its definition as `this`', async (t) => {
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
  const action = defineAction(new Rename());
  t.deepEqual(await action.run({} as never), { name: 'Rename a school' });
  t.true(Object.isFrozen(action));
});

test('an ActionError has a status of 4xx', (t) => {
  const { code, problemCode, status } = new ActionError(409, 'school_closed', 'The school is closed.');
  t.deepEqual(
    { code, problemCode, status },
    { code: 'ERR_ACTION', problemCode: 'school_closed', status: 409 },
  );
  for (const [wrongStatus, wrongCode] of [
    [500, 'broken'],
    [200, 'fine'],
    [404, 'Not Found'],
    [404, ''],
  ] as const) {
    t.throws(() => new ActionError(wrongStatus, wrongCode, 'x'), { instanceOf: ConfigError });
  }
});

import test from 'ava';

import { defineGate } from '../../lib/access/gate.ts';
import { ConfigError } from '../../lib/errors.ts';

const gate = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: { description: 'Edit schools', message: 'Only registrars edit schools.' },
    grade: { description: 'Grade' },
  },
  roles: { registrar: ['view_schools', 'edit_schools'], teacher: ['grade', 'view_schools'] },
});

test('a permission has a description, and an error message given or made from its name', (t) => {
  t.deepEqual(
    { ...gate.permissions },
    {
      view_schools: { description: 'View schools', message: 'Missing permission to view schools.' },
      edit_schools: { description: 'Edit schools', message: 'Only registrars edit schools.' },
      grade: { description: 'Grade', message: 'Missing permission to grade.' },
    },
  );
});

test('permissions come from direct assignments and roles, and each source is listed', (t) => {
  const effective = gate.effective({ permissions: ['view_schools'], roles: ['registrar', 'teacher'] });
  t.deepEqual(
    [...effective],
    [
      [
        'view_schools',
        [{ type: 'direct' }, { type: 'role', role: 'registrar' }, { type: 'role', role: 'teacher' }],
      ],
      ['edit_schools', [{ type: 'role', role: 'registrar' }]],
      ['grade', [{ type: 'role', role: 'teacher' }]],
    ],
  );
});

test('a permission assigned twice is listed once', (t) => {
  t.deepEqual(
    [...gate.effective({ permissions: ['grade', 'grade'], roles: ['teacher', 'teacher'] })],
    [
      ['grade', [{ type: 'direct' }, { type: 'role', role: 'teacher' }]],
      ['view_schools', [{ type: 'role', role: 'teacher' }]],
    ],
  );
});

test('roles and permissions that the gate does not define are ignored, also names of Object.prototype', (t) => {
  for (const name of ['unknown', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    t.false(gate.has(name), name);
    t.is(gate.effective({ permissions: [name], roles: [name] }).size, 0, name);
    t.is(Reflect.get(gate.permissions, name), undefined, name);
    t.is(Reflect.get(gate.roles, name), undefined, name);
  }
});

test('a permission may be called constructor', (t) => {
  const odd = defineGate({ permissions: { constructor: 'Construct' }, roles: { builder: ['constructor'] } });
  t.deepEqual([...odd.effective({ permissions: [], roles: ['builder'] }).keys()], ['constructor']);
});

test('a gate is immutable, also through the objects it was made from', (t) => {
  const members: 'view_schools'[] = [];
  const permissions = { view_schools: 'View schools' };
  const made = defineGate({ permissions, roles: { guest: members } });
  members.push('view_schools');
  permissions.view_schools = 'Changed';
  t.is(made.effective({ permissions: [], roles: ['guest'] }).size, 0);
  t.is(made.permissions.view_schools.description, 'View schools');
  for (const part of [made, made.permissions, made.permissions.view_schools, made.roles, made.roles.guest]) {
    t.true(Object.isFrozen(part));
  }
});

test('a gate may have no roles', (t) => {
  t.deepEqual(Object.keys(defineGate({ permissions: { view_schools: 'View schools' } }).roles), []);
});

test('an invalid definition is a ConfigError that names the option', (t) => {
  const mistakes: [unknown, string, RegExp][] = [
    [{ permissions: { 'View Schools': 'x' } }, 'gate.permissions.View Schools', /lower-case words/],
    [{ permissions: { view__schools: 'x' } }, 'gate.permissions.view__schools', /lower-case words/],
    [{ permissions: { 'view_schools\n': 'x' } }, 'gate.permissions.view_schools\n', /lower-case words/],
    [{ permissions: { view_schools: '' } }, 'gate.permissions.view_schools', /in words/],
    [{ permissions: { view_schools: null } }, 'gate.permissions.view_schools', /in words/],
    [
      { permissions: { view_schools: { description: 'x', message: 1 } } },
      'gate.permissions.view_schools',
      /in words/,
    ],
    [{ permissions: undefined }, 'gate.permissions', /object/],
    [undefined, 'gate', /object with some of permissions, roles, rules$/],
    [
      { permissions: {}, role: {} },
      'gate.role',
      /^gate.role: there is no such option; did you mean roles\? The options are permi/,
    ],
    [{ permissions: ['view_schools'] }, 'gate.permissions', /object/],
    [{ permissions: {}, roles: [] }, 'gate.roles', /object/],
    [{ permissions: {}, roles: { 'Head Teacher': [] } }, 'gate.roles.Head Teacher', /lower-case words/],
    [{ permissions: {}, roles: { teacher: 'grade' } }, 'gate.roles.teacher', /array/],
    [
      { permissions: { grade: 'Grade' }, roles: { teacher: ['grde'] } },
      'gate.roles.teacher',
      /"grde" is not one/,
    ],
    [
      { permissions: { grade: 'Grade' }, roles: { teacher: ['toString'] } },
      'gate.roles.teacher',
      /"toString" is not/,
    ],
    [{ permissions: {}, rules: [] }, 'gate.rules', /object/],
    [{ permissions: {}, rules: { grade: () => true } }, 'gate.rules.grade', /no such permission/],
    [{ permissions: {}, rules: { toString: () => true } }, 'gate.rules.toString', /no such permission/],
    [{ permissions: { grade: 'Grade' }, rules: { grade: true } }, 'gate.rules.grade', /pass a function/],
    [{ permissions: { grade: 'Grade' }, rules: { grade: undefined } }, 'gate.rules.grade', /pass a function/],
    [{ permissions: { grade: 'Grade' }, rules: { grade: async () => true } }, 'gate.rules.grade', /at once/],
    [
      {
        permissions: { grade: 'Grade' },
        rules: {
          *grade() {
            yield true;
          },
        },
      },
      'gate.rules.grade',
      /at once/,
    ],
    [
      {
        permissions: { grade: 'Grade' },
        rules: {
          async *grade() {
            yield true;
          },
        },
      },
      'gate.rules.grade',
      /at once/,
    ],
  ];
  for (const [definition, option, message] of mistakes) {
    const error = t.throws<ConfigError>(() => Reflect.apply(defineGate, undefined, [definition]), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message,
    });
    t.is(error.option, option);
  }
});

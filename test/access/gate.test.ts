import test from '../harness/test.ts';

import { defineGate } from '../../lib/access/gate.ts';
import { makePrincipal } from '../../lib/access/principal.ts';
import type { Gate, Principal } from '../../lib/contracts/index.ts';
import { ConfigError, PermissionMissingError } from '../../lib/errors.ts';
import { app } from './platform.ts';

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

test('names may have dots and colons, as in other libraries', (t) => {
  const named = defineGate({
    permissions: { 'boats.edit': 'Edit boats', 'boats:view_all': 'View all boats' },
    roles: { 'harbour.master': ['boats.edit'] },
  });
  t.is(named.permissions['boats.edit'].message, 'Missing permission: boats.edit.');
  t.is(named.permissions['boats:view_all'].message, 'Missing permission: boats:view_all.');
  t.deepEqual(
    [...named.effectivePermissions({ permissions: [], roles: ['harbour.master'] }).keys()],
    ['boats.edit'],
  );
  for (const name of ['boats.', '.boats', 'boats..edit', 'boats:_edit', 'boats edit', 'Boats.edit'])
    t.throws(() => defineGate({ permissions: { [name]: 'Edit' } }), {
      instanceOf: ConfigError,
      message: /lower-case words joined by underscores, dots or colons/,
    });
});

test('roles and permissions that the gate does not define are ignored, also names of Object.prototype', (t) => {
  for (const name of ['unknown', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    t.false(gate.has(name), name);
    t.is(gate.effectivePermissions({ permissions: [name], roles: [name] }).size, 0, name);
    t.is(Reflect.get(gate.permissions, name), undefined, name);
    t.is(Reflect.get(gate.roles, name), undefined, name);
  }
  const named = defineGate({
    permissions: { constructor: 'Construct' },
    roles: { builder: ['constructor'] },
  });
  t.deepEqual(
    [...named.effectivePermissions({ permissions: [], roles: ['builder'] }).keys()],
    ['constructor'],
  );
});

test('a gate is immutable, also through the objects it was made from', (t) => {
  const members: 'view_schools'[] = [];
  const permissions = { view_schools: 'View schools' };
  const rules = { view_schools: (_principal: Principal, _school: string) => false };
  const made = defineGate({ permissions, roles: { guest: members }, rules });
  members.push('view_schools');
  permissions.view_schools = 'Changed';
  rules.view_schools = () => true;
  t.is(made.effectivePermissions({ permissions: [], roles: ['guest'] }).size, 0);
  t.is(made.permissions.view_schools.description, 'View schools');
  t.false(made.can(principalOf(made, 'view_schools'), 'view_schools', 'hill'));
  for (const part of [made, made.permissions, made.permissions.view_schools, made.roles, made.roles.guest]) {
    t.true(Object.isFrozen(part));
  }
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
    ...['manage_apps', 'manage_all_apps', 'use_personal_tokens', 'introspect_tokens'].map(
      (name): [unknown, string, RegExp] => [
        { permissions: { [name]: 'Act' }, rules: { [name]: () => true } },
        `gate.rules.${name}`,
        /: the server asks for this permission itself, without an object: leave the rule out, or take another name$/,
      ],
    ),
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

interface School {
  readonly editors: readonly string[];
}

const hill: School = { editors: ['Hilda'] };

/** A client that has permissions of a gate. */
function principalOf<P extends string, S extends object>(
  from: Gate<P, never, S> | Gate<P, string, S>,
  ...permissions: readonly P[]
): Principal<P, never, S> {
  const sources = from.effectivePermissions({ permissions, roles: [] });
  const client = app({ name: 'Hilda' });
  return makePrincipal(
    { type: 'client', user: undefined, client, credential: 'access_token' },
    { roles: [], sources },
    { gate: from },
  );
}

function gateWith<T>(
  rule: (principal: Principal, school: T) => boolean,
): Gate<'view_schools' | 'edit_school', never, { edit_school: T }> {
  return defineGate({
    permissions: {
      view_schools: 'View schools',
      edit_school: { description: 'Edit a school', message: 'This school is not yours to edit.' },
    },
    rules: { edit_school: rule },
  });
}

const schoolGate = gateWith(({ client }, school: School) => school.editors.includes(client!.name));
const hilda = principalOf(schoolGate, 'view_schools', 'edit_school');

test('a rule is called only for principals with the permission', (t) => {
  let calls = 0;
  const counting = gateWith(() => (calls += 1) > 0);
  t.false(counting.can(principalOf(counting, 'view_schools'), 'edit_school', hill));
  t.is(calls, 0);
  t.true(counting.can(principalOf(counting, 'edit_school'), 'edit_school', hill));
});

test('can() is false for an undefined or null resource, whatever the rule returns; another falsy one is given to it', (t) => {
  const lenient = gateWith((_principal, floor: number | null | undefined) => !floor);
  const principal = principalOf(lenient, 'edit_school');
  t.true(lenient.can(principal, 'edit_school'));
  t.false(lenient.can(principal, 'edit_school', undefined));
  t.false(lenient.can(principal, 'edit_school', null));
  t.true(lenient.can(principal, 'edit_school', 0));
  t.false(lenient.can(principal, 'edit_school', 1));
});

test('an error of a rule is thrown, and allows nothing', (t) => {
  const broken = gateWith(() => {
    throw new TypeError('an error of the host');
  });
  const principal = principalOf(broken, 'edit_school');
  t.throws(() => broken.can(principal, 'edit_school', hill), { instanceOf: TypeError });
  t.throws(() => broken.authorize(principal, 'edit_school', hill), { instanceOf: TypeError });
});

test('a rule that returns anything but true or false is a ConfigError', async (t) => {
  const late = Promise.reject(new Error('late'));
  for (const answer of [
    1,
    'true',
    {},
    [],
    null,
    undefined,
    0,
    '',
    Object(true),
    Promise.resolve(true),
    late,
  ]) {
    const invalid = gateWith(() => answer as boolean);
    t.throws(() => invalid.can(principalOf(invalid, 'edit_school'), 'edit_school', hill), {
      code: 'ERR_CONFIG',
      message:
        'gate.rules.edit_school: pass a function that takes the principal and the object and returns true or false at once; read what it needs before can()',
    });
  }
  // Node reports an unhandled rejection after the microtasks; ava would fail the file.
  await new Promise(setImmediate);
});

test('a resource for a permission without a rule, and an unknown permission, are a ConfigError', (t) => {
  for (const attempt of [
    // @ts-expect-error the permission has no rule
    () => schoolGate.can(hilda, 'view_schools', hill),
    // @ts-expect-error the permission has no rule
    () => hilda.can('view_schools', hill),
  ])
    t.throws(attempt, {
      code: 'ERR_CONFIG',
      message:
        "can('view_schools', object): the permission has no rule; add gate.rules.view_schools, or leave the object out",
    });
  for (const name of ['edit_schools', 'constructor', '__proto__']) {
    t.throws(() => schoolGate.authorize(hilda, name as 'edit_school'), {
      code: 'ERR_CONFIG',
      message: `authorize('${name}'): the gate has no such permission; define it or correct the name`,
    });
    t.false(schoolGate.can(hilda, name as 'edit_school'));
  }
});

test('authorize() throws the error that the API answers with 403', (t) => {
  t.is(schoolGate.authorize(hilda, 'edit_school', hill), undefined);
  t.is(schoolGate.authorize(hilda, 'edit_school'), undefined);
  const error = t.throws<PermissionMissingError>(
    () => schoolGate.authorize(hilda, 'edit_school', { editors: [] }),
    {
      instanceOf: PermissionMissingError,
      code: 'ERR_PERMISSION_MISSING',
      message: 'This school is not yours to edit.',
    },
  );
  t.like(error, { permission: 'edit_school', status: 403 });
  t.throws(() => schoolGate.authorize(principalOf(schoolGate), 'view_schools'), {
    message: 'Missing permission to view schools.',
  });
});

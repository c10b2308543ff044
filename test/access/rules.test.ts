import test from 'ava';

import { defineGate } from '../../lib/access/gate.ts';
import { createFindClientPermissions, createPrincipalLoader } from '../../lib/access/principal.ts';
import type { Gate, Principal, User } from '../../lib/contracts/index.ts';
import { PermissionMissingError } from '../../lib/errors.ts';
import { app } from './platform.ts';

type Permission = 'view_schools' | 'edit_school';

interface School {
  readonly name: string;
  readonly editors: readonly string[];
}

const hill: School = { name: 'Hill School', editors: ['Hilda'] };

function gateWith<T>(
  rule: (principal: Principal, school: T) => boolean,
): Gate<Permission, never, { edit_school: T }> {
  return defineGate({
    permissions: {
      view_schools: 'View schools',
      edit_school: { description: 'Edit a school', message: 'This school is not yours to edit.' },
    },
    rules: { edit_school: rule },
  });
}

const gate = gateWith(({ client }, school: School) => school.editors.includes(client!.name));

/** The principal of a client of that name. */
async function principalOf<S extends object>(
  name: string,
  permissions: readonly Permission[],
  from: Gate<Permission, never, S>,
): Promise<Principal<Permission, User, S>> {
  const stored = { client: app({ id: name, name, permissions }), secrets: [], sequence: 0 };
  const userAssignments = { find: async () => undefined };
  const load = createPrincipalLoader<Permission, User>({
    gate: from,
    api: { resource: 'https://platform.example', scopes: new Map(), metadataUrl: undefined },
    clients: { find: async () => stored },
    userAssignments,
    clientPermissions: createFindClientPermissions<Permission>(from, userAssignments),
  });
  const claims = { iss: 'i', aud: 'a', sub: name, client_id: name, iat: 0, exp: 1, jti: 'j' } as const;
  return (await load({ ...claims, principal: 'client' }))!.principal;
}

test('a rule narrows a permission to some resources', async (t) => {
  const hilda = await principalOf('Hilda', ['edit_school'], gate);
  t.true(gate.can(hilda, 'edit_school', hill));
  t.false(gate.can(hilda, 'edit_school', { name: 'Dale School', editors: ['Dan'] }));
});

test('a rule gives no permission', async (t) => {
  t.false(gate.can(await principalOf('Hilda', [], gate), 'edit_school', hill));
  t.false(gate.can(await principalOf('Hilda', ['view_schools'], gate), 'edit_school', hill));
});

test('without a resource, can() looks at the permission alone', async (t) => {
  t.true(gate.can(await principalOf('Dan', ['edit_school'], gate), 'edit_school'));
  t.false(gate.can(await principalOf('Hilda', [], gate), 'edit_school'));
});

test('principal.can() and gate.can() give the same answer', async (t) => {
  for (const permissions of [[], ['edit_school']] as const) {
    const hilda = await principalOf('Hilda', permissions, gate);
    t.is(hilda.can('edit_school'), permissions.length > 0);
    t.is(hilda.can('edit_school', hill), permissions.length > 0);
    t.false(hilda.can('edit_school', { name: 'Dale School', editors: [] }));
  }
});

test('a rule is called only for principals with the permission', async (t) => {
  const asked: string[] = [];
  const recording = gateWith(({ client }) => asked.push(client!.name) > 0);
  t.false(recording.can(await principalOf('Dan', ['view_schools'], recording), 'edit_school', hill));
  t.true(recording.can(await principalOf('Hilda', ['edit_school'], recording), 'edit_school', hill));
  t.deepEqual(asked, ['Hilda']);
});

test('can() is false for an undefined or null resource, whatever the rule returns', async (t) => {
  const lenient = gateWith((_principal, school: School | null | undefined) => school?.name === undefined);
  const hilda = await principalOf('Hilda', ['edit_school'], lenient);
  t.true(lenient.can(hilda, 'edit_school'));
  t.false(lenient.can(hilda, 'edit_school', undefined));
  t.false(lenient.can(hilda, 'edit_school', null));
});

test('a falsy resource is given to the rule', async (t) => {
  const floorGate = gateWith((_principal, floor: number) => floor === 0);
  const hilda = await principalOf('Hilda', ['edit_school'], floorGate);
  t.true(floorGate.can(hilda, 'edit_school', 0));
  t.false(floorGate.can(hilda, 'edit_school', 1));
});

test('an error of a rule is thrown, and allows nothing', async (t) => {
  const broken = gateWith(() => {
    throw new TypeError('an error of the host');
  });
  const hilda = await principalOf('Hilda', ['edit_school'], broken);
  t.throws(() => broken.can(hilda, 'edit_school', hill), { instanceOf: TypeError });
  t.throws(() => broken.authorize(hilda, 'edit_school', hill), { instanceOf: TypeError });
});

test('a rule that returns anything but true or false is a ConfigError', async (t) => {
  const answers: unknown[] = [1, 'true', {}, [], null, undefined, 0, '', Promise.resolve(true), Object(true)];
  for (const answer of answers) {
    const invalid = gateWith(() => answer as boolean);
    const hilda = await principalOf('Hilda', ['edit_school'], invalid);
    t.throws(() => invalid.can(hilda, 'edit_school', hill), {
      code: 'ERR_CONFIG',
      message:
        'gate.rules.edit_school: pass a function that takes the principal and the resource and returns true or false at once; read what it needs before can()',
    });
  }
});

test('a promise returned by a rule may reject without an unhandled rejection', async (t) => {
  const late = gateWith(() => {
    const answer: unknown = Promise.reject(new Error('late'));
    return answer as boolean;
  });
  const hilda = await principalOf('Hilda', ['edit_school'], late);
  t.throws(() => late.can(hilda, 'edit_school', hill), { code: 'ERR_CONFIG' });
  // Node reports an unhandled rejection after the microtasks; ava would fail the file.
  await new Promise(setImmediate);
});

test('a resource for a permission without a rule is a ConfigError', async (t) => {
  const hilda = await principalOf('Hilda', ['view_schools', 'edit_school'], gate);
  t.throws(
    // @ts-expect-error the permission has no rule
    () => gate.can(hilda, 'view_schools', hill),
    {
      code: 'ERR_CONFIG',
      message:
        "can('view_schools', resource): the permission has no rule; add gate.rules.view_schools, or leave the resource out",
    },
  );
  t.throws(
    // @ts-expect-error the permission has no rule
    () => hilda.can('view_schools', hill),
    { code: 'ERR_CONFIG' },
  );
});

test('authorize() throws the error that the API answers with 403', async (t) => {
  const hilda = await principalOf('Hilda', ['edit_school'], gate);
  t.is(gate.authorize(hilda, 'edit_school', hill), undefined);
  t.is(gate.authorize(hilda, 'edit_school'), undefined);
  const error = t.throws<PermissionMissingError>(
    () => gate.authorize(hilda, 'edit_school', { name: 'Dale School', editors: [] }),
    {
      instanceOf: PermissionMissingError,
      code: 'ERR_PERMISSION_MISSING',
      message: 'This school is not yours to edit.',
    },
  );
  t.is(error.permission, 'edit_school');
  t.is(error.status, 403);
  t.throws(() => gate.authorize(hilda, 'view_schools'), { message: 'Missing permission to view schools.' });
});

test('authorize() with a permission that the gate does not define is a ConfigError', async (t) => {
  const hilda = await principalOf('Hilda', ['edit_school'], gate);
  for (const name of ['edit_schools', 'constructor', '__proto__']) {
    t.throws(() => gate.authorize(hilda, name as Permission), {
      code: 'ERR_CONFIG',
      message: `authorize('${name}'): the gate has no such permission; define it or correct the name`,
    });
    t.false(gate.can(hilda, name as Permission));
  }
});

test('rules cannot be changed through the object that the gate was made from', async (t) => {
  const rules = { edit_school: (_principal: Principal, _school: School) => false };
  const permissions = { view_schools: 'View schools', edit_school: 'Edit a school' };
  const made = defineGate({ permissions, rules });
  rules.edit_school = () => true;
  t.false(made.can(await principalOf('Hilda', ['edit_school'], made), 'edit_school', hill));
});

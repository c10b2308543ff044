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

const gate = gateWith(({ client }, school: School) => school.editors.includes(client.name));

/** A client of that name as a guard would let it in. */
async function holder<S extends object>(
  name: string,
  permissions: readonly Permission[],
  from: Gate<Permission, never, S>,
): Promise<Principal<Permission, User, S>> {
  const stored = { client: app({ id: name, name, permissions }), secrets: [], sequence: 0 };
  const userAssignments = { find: async () => undefined };
  const load = createPrincipalLoader<Permission, User>({
    gate: from,
    scopes: new Map(),
    clients: { find: async () => stored },
    userAssignments,
    clientPermissions: createFindClientPermissions<Permission>(from, userAssignments),
  });
  const claims = { iss: 'i', aud: 'a', sub: name, client_id: name, iat: 0, exp: 1, jti: 'j' } as const;
  return (await load({ ...claims, principal: 'client' }))!;
}

test('a rule narrows a permission to subjects', async (t) => {
  const hilda = await holder('Hilda', ['edit_school'], gate);
  t.true(gate.can(hilda, 'edit_school', hill));
  t.false(gate.can(hilda, 'edit_school', { name: 'Dale School', editors: ['Dan'] }));
});

test('a rule gives nobody a permission', async (t) => {
  t.false(gate.can(await holder('Hilda', [], gate), 'edit_school', hill));
  t.false(gate.can(await holder('Hilda', ['view_schools'], gate), 'edit_school', hill));
});

test('without a subject it is the permission alone: some school', async (t) => {
  t.true(gate.can(await holder('Dan', ['edit_school'], gate), 'edit_school'));
  t.false(gate.can(await holder('Hilda', [], gate), 'edit_school'));
});

test('a principal says the same', async (t) => {
  for (const permissions of [[], ['edit_school']] as const) {
    const hilda = await holder('Hilda', permissions, gate);
    t.is(hilda.can('edit_school'), permissions.length > 0);
    t.is(hilda.can('edit_school', hill), permissions.length > 0);
    t.false(hilda.can('edit_school', { name: 'Dale School', editors: [] }));
  }
});

test('the rule is asked about those only who hold the permission', async (t) => {
  const asked: string[] = [];
  const curious = gateWith(({ client: { name } }) => asked.push(name) > 0);
  t.false(curious.can(await holder('Dan', ['view_schools'], curious), 'edit_school', hill));
  t.true(curious.can(await holder('Hilda', ['edit_school'], curious), 'edit_school', hill));
  t.deepEqual(asked, ['Hilda']);
});

test('nobody may do anything to a subject that is not there, whatever the rule says', async (t) => {
  const lenient = gateWith((_principal, school: School | null | undefined) => school?.name === undefined);
  const hilda = await holder('Hilda', ['edit_school'], lenient);
  t.true(lenient.can(hilda, 'edit_school'));
  t.false(lenient.can(hilda, 'edit_school', undefined));
  t.false(lenient.can(hilda, 'edit_school', null));
});

test('subjects that are falsy are there', async (t) => {
  const floors = gateWith((_principal, floor: number) => floor === 0);
  const hilda = await holder('Hilda', ['edit_school'], floors);
  t.true(floors.can(hilda, 'edit_school', 0));
  t.false(floors.can(hilda, 'edit_school', 1));
});

test('a rule that throws lets nobody in', async (t) => {
  const broken = gateWith(() => {
    throw new TypeError('a mistake of the host');
  });
  const hilda = await holder('Hilda', ['edit_school'], broken);
  t.throws(() => broken.can(hilda, 'edit_school', hill), { instanceOf: TypeError });
  t.throws(() => broken.authorize(hilda, 'edit_school', hill), { instanceOf: TypeError });
});

test('a rule that answers anything but true or false lets nobody in', async (t) => {
  const answers: unknown[] = [1, 'true', {}, [], null, undefined, 0, '', Promise.resolve(true), Object(true)];
  for (const answer of answers) {
    const vague = gateWith(() => answer as boolean);
    const hilda = await holder('Hilda', ['edit_school'], vague);
    t.throws(() => vague.can(hilda, 'edit_school', hill), {
      code: 'ERR_CONFIG',
      message:
        'gate.rules.edit_school: pass a function that takes the principal and the resource and returns true or false at once; read what it needs before can()',
    });
  }
});

test('a promise that a rule should not have given may reject, and the server goes on', async (t) => {
  const late = gateWith(() => {
    const answer: unknown = Promise.reject(new Error('late'));
    return answer as boolean;
  });
  const hilda = await holder('Hilda', ['edit_school'], late);
  t.throws(() => late.can(hilda, 'edit_school', hill), { code: 'ERR_CONFIG' });
  // Node reports a rejection that nobody handles after the microtasks; ava would fail the file.
  await new Promise(setImmediate);
});

test('a resource for a permission without a rule is a mistake, and not taken for a yes', async (t) => {
  const hilda = await holder('Hilda', ['view_schools', 'edit_school'], gate);
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

test('authorize() throws what the API answers with 403', async (t) => {
  const hilda = await holder('Hilda', ['edit_school'], gate);
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

test('authorize() with a name that the gate does not know is a ConfigError', async (t) => {
  const hilda = await holder('Hilda', ['edit_school'], gate);
  for (const name of ['edit_schools', 'constructor', '__proto__']) {
    t.throws(() => gate.authorize(hilda, name as Permission), {
      code: 'ERR_CONFIG',
      message: `authorize('${name}'): the gate has no such permission; define it or correct the name`,
    });
    t.false(gate.can(hilda, name as Permission));
  }
});

test('rules cannot be changed through what the gate was made from', async (t) => {
  const rules = { edit_school: (_principal: Principal, _school: School) => false };
  const permissions = { view_schools: 'View schools', edit_school: 'Edit a school' };
  const made = defineGate({ permissions, rules });
  rules.edit_school = () => true;
  t.false(made.can(await holder('Hilda', ['edit_school'], made), 'edit_school', hill));
});

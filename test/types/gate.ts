import { defineGate } from 'koa-gatehouse';
import type { Gate, Principal, UserPrincipal } from 'koa-gatehouse';

import { same } from './same.ts';
import { pupil, school } from './school.ts';
import type { Person, Pupil, School } from './school.ts';

const permissions = {
  view_schools: 'View schools',
  edit_school: 'Edit a school',
  grade_pupil: 'Grade a pupil',
};

// Permissions and roles have the given names.
const plain = defineGate({ permissions, roles: { registrar: ['view_schools', 'edit_school'] } });
same<typeof plain, Gate<'view_schools' | 'edit_school' | 'grade_pupil', 'registrar'>>();
const bare = defineGate({ permissions: { view_schools: 'View schools' } });
same<typeof bare, Gate<'view_schools', never>>();

// Each resource has the type of the parameter of its rule.
const gate = defineGate({
  permissions,
  roles: { registrar: ['view_schools'] },
  rules: {
    edit_school: (principal, { registrarId }: School) => {
      same<typeof principal, Principal<'view_schools' | 'edit_school' | 'grade_pupil'>>();
      return principal.can('view_schools') && principal.user?.id === registrarId;
    },
    grade_pupil: (_principal, { grade }: Pupil) => grade > 3,
  },
});
type Resources = { edit_school: School; grade_pupil: Pupil };
same<typeof gate, Gate<'view_schools' | 'edit_school' | 'grade_pupil', 'registrar', Resources>>();

declare const principal: Principal<'view_schools' | 'edit_school' | 'grade_pupil', Person>;
gate.can(principal, 'view_schools') satisfies boolean;
gate.can(principal, 'edit_school') satisfies boolean;
gate.can(principal, 'edit_school', school) satisfies boolean;
gate.authorize(principal, 'grade_pupil', pupil);
// @ts-expect-error a pupil is no school
gate.can(principal, 'edit_school', pupil);
// @ts-expect-error a pupil is no school
gate.authorize(principal, 'edit_school', pupil);
// @ts-expect-error the school may be undefined
gate.can(principal, 'edit_school', school as School | undefined);
// @ts-expect-error the permission has no rule
gate.can(principal, 'view_schools', school);
// @ts-expect-error there is no such permission
gate.can(principal, 'edit_schools');
// @ts-expect-error there is no such permission
gate.authorize(principal, 'edit_schools', school);
// @ts-expect-error a gate without rules has no resources
plain.can(principal, 'edit_school', school);

// Shared functions and actions of the API accept any principal.
declare const anyPrincipal: Principal;
gate.authorize(anyPrincipal, 'edit_school', school);

// A rule may need the host's own type of user, with one annotation.
const ofPersons = defineGate({
  permissions,
  rules: {
    edit_school: ({ user }: Principal<string, Person>, { id }: School) =>
      user?.schoolIds.includes(id) ?? false,
    grade_pupil: ({ user }, { schoolId }: Pupil) => user?.schoolIds.includes(schoolId) ?? false,
  },
});
same<typeof ofPersons, Gate<keyof typeof permissions, never, Resources>>();

defineGate({
  permissions,
  rules: {
    // @ts-expect-error it would throw for clients
    edit_school: ({ user }: UserPrincipal, { registrarId }: School) => user.id === registrarId,
    // @ts-expect-error not every user has schools; the principal has to be annotated
    grade_pupil: (caller, { schoolId }: Pupil) => caller.user?.schoolIds.includes(schoolId) ?? false,
  },
});
defineGate({
  permissions,
  // @ts-expect-error there is no such permission
  roles: { registrar: ['view_school'] },
});
defineGate({
  permissions,
  rules: {
    // @ts-expect-error there is no such permission
    edit_schools: (caller, { registrarId }: School) => caller.user?.id === registrarId,
    // @ts-expect-error the user may be undefined, for clients
    edit_school: (caller, { registrarId }: School) => caller.user.id === registrarId,
    // @ts-expect-error a rule returns at once
    grade_pupil: async (caller, { schoolId }: Pupil) => caller.user?.id === schoolId,
  },
});
defineGate({
  permissions,
  rules: {
    // @ts-expect-error a rule returns true or false
    edit_school: (caller, { registrarId }: School) => caller.user && registrarId,
    // @ts-expect-error there is no such permission
    grade_pupil: (caller, { schoolId }: Pupil) => caller.can('view_school') && schoolId !== '',
  },
});

// A gate with typed names is assignable to any gate.
gate satisfies Gate;
gate satisfies Gate<keyof typeof permissions, 'registrar'>;
function withoutResources<P extends string, R extends string, S extends object>(
  given: Gate<P, R, S>,
): Gate<P, R> {
  return given;
}
same<
  ReturnType<typeof withoutResources<'drive_bus', never, { drive_bus: Pupil }>>,
  Gate<'drive_bus', never>
>();
principal satisfies Principal;

// Roles and permissions are typed.
gate.permissions.edit_school.message satisfies string;
// @ts-expect-error there is no such permission
void gate.permissions.edit_schools;
// @ts-expect-error there is no such role
void gate.roles.teacher;
for (const [permission, sources] of gate.effectivePermissions({ roles: [], permissions: [] })) {
  same<typeof permission, 'view_schools' | 'edit_school' | 'grade_pupil'>();
  for (const source of sources) {
    if (source.type === 'role') source.role satisfies string;
    // @ts-expect-error a permission assigned directly has no role
    else void source.role;
  }
}

import { createApiRouter, defineAction, defineGate } from 'koa-gatehouse';
import type { Action, ApiAuth, Principal, User } from 'koa-gatehouse';
import { z } from 'zod';

import { same } from './same.ts';
import { pupil, school } from './school.ts';
import type { School } from './school.ts';

type Permission = 'view_schools' | 'edit_school';
type Resources = { edit_school: School };

const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});
declare const auth: ApiAuth<Permission, User, Resources>;

const common = {
  type: 'school',
  name: 'rename-school-action',
  level: 'instance',
  title: 'Rename a school',
  input: z.object({ name: z.string() }),
  output: z.null(),
} as const;

// With the gate, the principal's permissions and resources are typed.
const rename = defineAction({
  ...common,
  gate,
  permission: 'edit_school',
  run({ database, id, input, principal }) {
    same<typeof principal, Principal<Permission, User, Resources>>();
    same<typeof input, { name: string }>();
    same<typeof id, string>();
    same<typeof database, undefined>();
    principal.can('view_schools') satisfies boolean;
    principal.can('edit_school', school) satisfies boolean;
    gate.authorize(principal, 'edit_school', school);
    // @ts-expect-error there is no such permission
    principal.can('edit_schools');
    // @ts-expect-error a pupil is no school
    principal.can('edit_school', pupil);
    return null;
  },
});
same<typeof rename, Action<'edit_school'>>();
createApiRouter({ auth, actions: [rename] });

defineAction({
  ...common,
  gate,
  // @ts-expect-error there is no such permission
  permission: 'edit_schools',
  run: () => null,
});

// Without the gate, any permission is accepted until the action is part of an API.
const unbound = defineAction({
  ...common,
  permission: 'edit_schools',
  run({ principal }) {
    same<typeof principal, Principal>();
    principal.can('anything') satisfies boolean;
    return null;
  },
});
same<typeof unbound, Action<'edit_schools'>>();
// @ts-expect-error there is no such permission
createApiRouter({ auth, actions: [unbound] });

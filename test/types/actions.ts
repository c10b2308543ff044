import type { Knex } from 'knex';
import { createApiRouter, defineAction, defineGate } from 'koa-gatehouse';
import type { Action, AuthServer, Principal, User } from 'koa-gatehouse';
import { z } from 'zod';

import { same } from './same.ts';
import { pupil, school } from './school.ts';
import type { Pupil, School } from './school.ts';

type Permission = 'view_schools' | 'edit_school';
type Resources = { edit_school: School };

const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});
declare const auth: AuthServer<typeof gate>;

const common = {
  type: 'school',
  name: 'rename-school-action',
  level: 'instance',
  title: 'Rename a school',
  input: z.object({ name: z.string() }),
  output: z.object({ done: z.boolean() }),
} as const;
const run = (): { done: boolean } => ({ done: true });

// With the gate, the principal's permissions and resources are typed, and so is the object of a permission with a rule.
const rename = defineAction({
  ...common,
  gate,
  permission: 'edit_school',
  async object({ id, input, principal }) {
    same<typeof id, string>();
    same<typeof input, { name: string }>();
    same<typeof principal, Principal<Permission, User, Resources>>();
    return { ...school, id, city: 'York' };
  },
  run({ database, id, input, object, principal }) {
    same<typeof object, { id: string; registrarId: string; city: string }>();
    same<typeof principal, Principal<Permission, User, Resources>>();
    same<typeof input, { name: string }>();
    same<typeof id, string>();
    same<typeof database, undefined>();
    principal.can('edit_school', school) satisfies boolean;
    gate.authorize(principal, 'edit_school', school);
    // @ts-expect-error there is no such permission
    principal.can('edit_schools');
    // @ts-expect-error a pupil is no school
    principal.can('edit_school', pupil);
    return { done: true };
  },
});
same<typeof rename, Action<'edit_school'>>();
createApiRouter({ auth, actions: [rename] });
// @ts-expect-error there is no such permission
defineAction({ ...common, gate, permission: 'edit_schools', run });
// @ts-expect-error the permission has a rule, which decides about an object
defineAction({ ...common, gate, permission: 'edit_school', run });
// @ts-expect-error a pupil is no school
defineAction({ ...common, gate, permission: 'edit_school', object: () => pupil, run });
// @ts-expect-error a pupil is no school
defineAction({ ...common, gate, permission: 'edit_school', object: async () => pupil, run });
// @ts-expect-error the permission has no rule
defineAction({ ...common, gate, permission: 'view_schools', object: () => school, run });
defineAction({
  ...common,
  gate,
  permission: 'view_schools',
  run({ object }) {
    same<typeof object, never>();
    return { done: true };
  },
});
// Also where the object is that of a collection, from the input, or may be missing.
defineAction({
  ...common,
  gate,
  level: 'collection',
  permission: 'edit_school',
  object: ({ input }) => (input.name === '' ? undefined : school),
  run({ object }) {
    same<typeof object, School>();
    return { done: true };
  },
});

// Without the gate, any permission and any object are accepted until the action is part of an API.
defineAction({
  ...common,
  permission: 'edit_school',
  object: () => pupil,
  run({ object }) {
    same<typeof object, Pupil>();
    return { done: true };
  },
});
const unbound = defineAction({ ...common, permission: 'edit_schools', run });
same<typeof unbound, Action<'edit_schools'>>();
// @ts-expect-error there is no such permission
createApiRouter({ auth, actions: [unbound] });

// `run` gets the output type of the input schema, and returns the input type of the output schema.
defineAction({
  ...common,
  permission: 'edit_school',
  level: 'collection',
  input: z.object({ on: z.iso.date(), notes: z.string().optional(), length: z.number().default(2) }),
  output: z.object({ id: z.string(), length: z.number().default(2) }),
  async run({ id, input }) {
    same<typeof input, { on: string; notes?: string | undefined; length: number }>();
    same<typeof id, undefined>();
    return { id: input.on };
  },
});
// @ts-expect-error the result is not a boolean
defineAction({ ...common, permission: 'edit_school', run: ({ id }) => ({ done: id }) });
// @ts-expect-error the result lacks a member
defineAction({ ...common, permission: 'edit_school', run: async () => ({}) });
// @ts-expect-error there is no such level
defineAction({ ...common, permission: 'edit_school', level: 'object', run });
// @ts-expect-error the name of an action ends in -action
defineAction({ ...common, permission: 'edit_school', name: 'close-school', run });
// @ts-expect-error a JSON Schema by itself has no types
defineAction({ ...common, permission: 'edit_school', input: { type: 'object' }, run });

// `database` has the type of the given one.
declare const db: Knex;
defineAction({
  ...common,
  permission: 'edit_school',
  database: db,
  async run({ database, dryRun, signal }) {
    same<typeof database, Knex>();
    same<typeof dryRun, boolean>();
    same<typeof signal, AbortSignal>();
    return { done: true };
  },
});

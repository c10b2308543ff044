import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { Action } from '../../lib/api/actions/define-action.ts';
import { ActionError } from '../../lib/errors.ts';
import type { Permission } from '../access/platform.ts';

export interface School {
  readonly id: string;
  readonly name: string;
}

const Name = z.string().regex(/^\S(?:.{0,98}\S)?$/u, 'Give 1 to 100 characters on one line.');
const SchoolSchema = z.object({ id: z.string(), name: z.string() });

/** Defaults for an action of a test: at collection level, without input and output. */
export const PLAIN: {
  readonly type: 'school';
  readonly level: 'collection';
  readonly title: string;
  readonly permission: 'edit_schools';
  readonly input: z.ZodObject;
  readonly output: z.ZodNull;
} = {
  type: 'school',
  level: 'collection',
  title: 'Try',
  permission: 'edit_schools',
  input: z.object({}),
  output: z.null(),
};

/** Schools in memory, and actions on them. */
export function schoolActions(schools: Map<string, School> = new Map()): {
  readonly schools: Map<string, School>;
  /** The names that `run` was called with, in order. */
  readonly ran: string[];
  readonly create: Action<Permission>;
  readonly rename: Action<Permission>;
  /** Needs a permission that the user of the tests does not have. */
  readonly grade: Action<Permission>;
} {
  const ran: string[] = [];
  return {
    schools,
    ran,
    create: defineAction({
      type: 'school',
      name: 'create-school-action',
      level: 'collection',
      title: 'Create a school',
      permission: 'edit_schools',
      input: z.object({ name: Name, tags: z.array(z.string()).optional() }),
      output: SchoolSchema,
      run({ input: { name } }) {
        ran.push(name);
        const school = { id: String(schools.size + 1), name };
        schools.set(school.id, school);
        return school;
      },
    }),
    rename: defineAction({
      type: 'school',
      name: 'rename-school-action',
      level: 'instance',
      title: 'Rename a school',
      description: 'Gives a school another name.',
      permission: 'edit_schools',
      input: z.object({ name: Name }),
      output: SchoolSchema,
      async run({ id, input: { name } }) {
        ran.push(name);
        if (!schools.has(id)) {
          throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
        }
        schools.set(id, { id, name });
        return { id, name, secret: 'not in the output schema' };
      },
    }),
    grade: defineAction({
      type: 'school',
      name: 'grade-school-action',
      level: 'instance',
      title: 'Grade a school',
      permission: 'view_grades',
      input: z.object({}),
      output: z.null(),
      run: () => null,
    }),
  };
}

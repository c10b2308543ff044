import type { Knex } from 'knex';
import type { Action } from 'koa-gatehouse';

import type { Permission } from '../gate.ts';
import { closeSchool } from './close-school.ts';
import { createSchool } from './create-school.ts';
import { listSchools } from './list-schools.ts';
import { renameSchool } from './rename-school.ts';

/** The actions of the platform's API. They are the tools of agents too. */
export function platformActions(knex: Knex): readonly Action<Permission>[] {
  return [listSchools(knex), createSchool(knex), renameSchool(knex), closeSchool(knex)];
}

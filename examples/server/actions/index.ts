import type { Knex } from 'knex';
import type { Action } from 'koa-gatehouse';

import type { Permission } from '../gate.ts';
import { closeSchool } from './close-school.ts';
import { createSchool } from './create-school.ts';
import { renameSchool } from './rename-school.ts';

/** The actions of the platform's API. */
export function platformActions(knex: Knex): readonly Action<Permission>[] {
  return [createSchool(knex), renameSchool(knex), closeSchool(knex)];
}

import type { Context } from 'koa';

import type { User } from '../../contracts/index.ts';
import { optional, readOptions } from '../../options/declare.ts';
import type { Given } from '../../options/declare.ts';
import { pagePath } from '../../options/paths.ts';
import type { Feature } from '../feature.ts';
import type { Developer } from './types.ts';

export type { ActivityRecord, AppUsage, Developer } from './types.ts';

export const DEVELOPER = {
  /**
   * The path of the pages on which users register and manage apps, below the issuer's path. With `false` there are none, for pages of
   * your own.
   * @default '/developer/apps'
   */
  path: optional(pagePath, '/developer/apps'),
};

/** The options of {@link developer}. */
export interface DeveloperOptions extends Given<typeof DEVELOPER> {}

/** What {@link developer} adds to a server. */
export interface WithDeveloper {
  /**
   * The apps of a user, and what the user may do with them, for pages of your own.
   *
   * @param ctx - the context of the request, for the audit log
   * @throws GatehouseError `ERR_PERMISSION_MISSING` for a user without the permission `manage_apps`
   */
  developer(this: void, ctx: Context, user: User): Promise<Developer>;
}

/**
 * The developer area, at `/developer/apps`: users with the permission `manage_apps` register apps there, and manage their own. Users who
 * also have `manage_all_apps` manage the apps of all users. The gate has to define `manage_apps`.
 *
 *     createAuthServer({ …, features: [developer()] })
 *
 * @throws ConfigError for a wrong option
 */
export function developer(options: DeveloperOptions = {}): Feature<WithDeveloper> {
  const settings = readOptions(DEVELOPER, options, 'developer()');
  return {
    name: 'developer',
    install: async (core) => (await import('./install.ts')).installDeveloper(core, settings),
  };
}

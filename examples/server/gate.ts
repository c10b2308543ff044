import { defineGate } from 'koa-gatehouse';
import type { Gate, Scope } from 'koa-gatehouse';

export type Permission =
  | 'view_schools'
  | 'edit_schools'
  | 'close_schools'
  | 'manage_apps'
  | 'manage_all_apps';
export type Role = 'registrar' | 'administrator';

/** The permissions and roles of the platform. */
export const gate: Gate<Permission, Role> = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: 'Edit schools',
    close_schools: 'Close schools',
    // These two enable the developer area.
    manage_apps: 'Manage your own apps',
    manage_all_apps: 'Manage the apps of all users',
  },
  roles: {
    registrar: ['view_schools'],
    administrator: ['view_schools', 'edit_schools', 'close_schools', 'manage_apps', 'manage_all_apps'],
  },
});

/** The scopes that apps may request. A token without scopes has all permissions of its user. */
export const scopes: Readonly<Record<string, Scope<Permission>>> = {
  profile: { description: 'See your name and email address', permissions: [] },
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': {
    description: 'Rename your schools',
    permissions: ['view_schools', 'edit_schools'],
    // Users can uncheck it on the consent page.
    optional: true,
  },
};

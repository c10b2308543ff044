import { defineGate } from 'koa-gatehouse';
import type { Gate, Scope } from 'koa-gatehouse';

export type Permission =
  | 'view_schools'
  | 'edit_schools'
  | 'close_schools'
  | 'manage_apps'
  | 'manage_all_apps';
export type Role = 'registrar' | 'administrator';

/** Who may do what on the platform. */
export const gate: Gate<Permission, Role> = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: 'Edit schools',
    close_schools: 'Close schools',
    // These two open the developer area.
    manage_apps: 'Manage apps of your own',
    manage_all_apps: 'Manage everybody’s apps',
  },
  roles: {
    registrar: ['view_schools'],
    administrator: ['view_schools', 'edit_schools', 'close_schools', 'manage_apps', 'manage_all_apps'],
  },
});

/** What apps may ask people for. An app that asks for nothing may do whatever the person may do. */
export const scopes: Readonly<Record<string, Scope<Permission>>> = {
  profile: { description: 'See your name and email address', permissions: [] },
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
};

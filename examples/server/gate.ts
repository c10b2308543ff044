import { defineGate } from 'koa-gatehouse';
import type { Gate, Resource, Scope } from 'koa-gatehouse';

import type { School } from './schools.ts';

export type Permission =
  | 'view_schools'
  | 'edit_schools'
  | 'close_schools'
  | 'manage_apps'
  | 'manage_all_apps';
export type Role = 'registrar' | 'administrator';

/** The objects that rules decide about. */
export interface Objects {
  readonly edit_schools: Pick<School, 'open'>;
}

/** The permissions, roles and rules of the platform. */
export const gate: Gate<Permission, Role, Objects> = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: 'Edit schools',
    close_schools: 'Close schools',
    // Of developer().
    manage_apps: 'Manage your own apps',
    manage_all_apps: 'Manage the apps of all users',
  },
  roles: {
    registrar: ['view_schools'],
    administrator: ['view_schools', 'edit_schools', 'close_schools', 'manage_apps', 'manage_all_apps'],
  },
  rules: {
    // A school that takes no new pupils is changed by those who may close schools.
    edit_schools: (principal, { open }: Pick<School, 'open'>) => open || principal.can('close_schools'),
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

/** The statistics are an API of their own: apps ask for them with `resource`, and get tokens that are valid for an hour, the default. */
const STATISTICS: Resource<Permission> = {
  name: 'Larkfield statistics',
  scopes: {
    'statistics:read': { description: 'See how many schools there are', permissions: ['view_schools'] },
  },
};

/** What agents may ask for. Their tokens are valid for an hour, the default, because nobody registers most agents. */
const AGENTS: Resource<Permission> = {
  name: 'Larkfield schools for agents',
  scopes: {
    'schools:read': scopes['schools:read']!,
    'schools:write': scopes['schools:write']!,
    'schools:close': {
      description: 'Close your schools for new pupils',
      permissions: ['close_schools'],
      optional: true,
    },
  },
  lifetimes: { refreshTokenAbsolute: '90 days' },
};

/** The URL of the statistics. */
export function statisticsUrl(baseUrl: string): string {
  return `${baseUrl}/statistics`;
}

/** The URL that agents connect to. */
export function agentsUrl(baseUrl: string): string {
  return `${baseUrl}/mcp`;
}

/** The APIs besides `/api/v1`, by their URLs. */
export function resourcesAt(baseUrl: string): Readonly<Record<string, Resource<Permission>>> {
  return { [statisticsUrl(baseUrl)]: STATISTICS, [agentsUrl(baseUrl)]: AGENTS };
}

/** Those of this machine, for `gatehouse client … --gate gate.ts`. */
export const resources = resourcesAt(
  process.env['BASE_URL'] || `http://localhost:${process.env['PORT'] || 3000}`,
);

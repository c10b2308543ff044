import type { Command } from 'commander';
import type { Client } from 'koa-gatehouse';
import type { PermissionSource } from 'koa-gatehouse/types';

import { repeated } from '../arguments.ts';
import { findClient, withSession } from '../session.ts';
import { properties, table } from '../table.ts';
import { uncheckedNames } from '../gate-file.ts';

interface Options {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly addRole?: readonly string[];
  readonly removeRole?: readonly string[];
}

/** `gatehouse client permissions` */
export function addClientPermissions(client: Command): void {
  client
    .command('permissions <client-id>')
    .summary('show or change its permissions')
    .description(
      'Show or change the permissions of a client_credentials client. With --gate, the permissions of its roles are shown too.',
    )
    .option('--add <permission>', 'can be repeated', repeated)
    .option('--remove <permission>', 'can be repeated', repeated)
    .option('--add-role <role>', 'can be repeated', repeated)
    .option('--remove-role <role>', 'can be repeated', repeated)
    .addHelpText(
      'after',
      '\nJSON: {"client_id", "roles": [], "permissions": [], "effective": [{"permission", "sources":\n' +
        '  [{"type": "direct"} | {"type": "role", "role"}]}] (null without --gate), "notes": []}',
    )
    .action(permissions);
}

const permissions = withSession(async (session, options: Options, id: string) => {
  const { add = [], addRole = [], remove = [], removeRole = [] } = options;
  const isChange = [...add, ...addRole, ...remove, ...removeRole].length > 0;
  const client = isChange
    ? await session.administration.clients.update(id, (current) => ({
        roles: changed(current.roles, addRole, removeRole),
        permissions: changed(current.permissions, add, remove),
      }))
    : await findClient(session, id);
  const effective = session.names && [...session.names.gate.effectivePermissions(client)];
  return {
    json: {
      client_id: id,
      roles: client.roles,
      permissions: client.permissions,
      effective: effective?.map(([permission, sources]) => ({ permission, sources })) ?? null,
    },
    text: toText(client, effective),
    notes: uncheckedNames(session.names, { roles: addRole, permissions: add }),
  };
});

function changed(
  names: readonly string[],
  add: readonly string[],
  remove: readonly string[],
): readonly string[] {
  return [...new Set([...names, ...add])].filter((name) => !remove.includes(name));
}

type Effective = readonly [permission: string, sources: readonly PermissionSource[]];

function toText(
  { id, name, permissions: direct, roles }: Client,
  effective: readonly Effective[] | undefined,
): string {
  const assigned = properties([
    ['Client ID', id],
    ['Name', name],
    ['Roles', roles],
    ['Permissions', direct],
  ]);
  if (!effective || effective.length === 0) return assigned;
  const rows = effective.map(([permission, sources]) => [permission, sources.map(sourceText).join(', ')]);
  return [assigned, table(['May', 'Because of'], rows)].join('\n\n');
}

function sourceText(source: PermissionSource): string {
  return source.type === 'direct' ? 'itself' : `role ${source.role}`;
}

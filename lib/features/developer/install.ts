import { createFindClientPermissions } from '../../access/principal.ts';
import { NO_FURTHER_FIELDS } from '../../clients/further-fields.ts';
import { ConfigError } from '../../errors.ts';
import { originOf } from '../../http/request.ts';
import { PAGE } from '../../engine/endpoints.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createDeveloperArea } from './area.ts';
import { describeScopes } from './assignable.ts';
import type { WithDeveloper } from './index.ts';

export function installDeveloper(
  { audit, clients, eventRules, options, sessions, storage, tokens, users }: Core,
  { path }: { readonly path: string | undefined },
): Installed<WithDeveloper> {
  const { gate, retention } = options;
  if (!gate.has('manage_apps'))
    throw new ConfigError('gate', 'add the permission manage_apps, which users need for developer()');
  const areaOf = createDeveloperArea({
    audit,
    eventRules,
    retention: retention.audit,
    gate,
    scopes: describeScopes(options),
    users: options.users,
    assignmentOf: async (user) => users.of(user),
    clientPermissions: createFindClientPermissions(gate, users),
    revokeFor: tokens.revokeFor,
    registryFor: clients.registryFor,
    loadNameCheck: clients.loadNameCheck,
    privateKeyJwt: options.clients.privateKeyJwt,
    furtherFields: clients.names.further ?? NO_FURTHER_FIELDS,
    storage,
  });
  const developer: WithDeveloper['developer'] = async (ctx, user) => areaOf(user, originOf(ctx));
  return {
    api: { developer },
    ...(path !== undefined && {
      endpoints: [{ ...PAGE, area: path }],
      pages: async () =>
        (await import('./pages.ts')).developerPages({
          areaOf: developer,
          kinds: clients.names.kinds,
          options,
          path,
          sessions,
        }),
    }),
  };
}

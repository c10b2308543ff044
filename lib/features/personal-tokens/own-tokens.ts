import { now } from '../../contracts/clock.ts';
import { createOnce } from '../../account/once.ts';
import type { InteractionFlow, User } from '../../contracts/index.ts';
import { LoginRequiredError, missingPermission, PermissionMissingError } from '../../errors.ts';
import { originOf } from '../../http/request.ts';
import type { Core } from '../core.ts';
import { USE_PERSONAL_TOKENS } from './form.ts';
import type { PersonalTokenSettings } from './index.ts';
import type { PersonalTokenRegistry } from './manage.ts';
import type { OwnPersonalTokens, TokenChoice } from './types.ts';

type RequestContext = Parameters<InteractionFlow['currentUser']>[0];

/** Creates the function that lists, creates and ends the personal access tokens of a user for the pages. */
export function createOwnTokens(
  { options, sessions, storage, users }: Core,
  { tokens, settings }: { readonly tokens: PersonalTokenRegistry; readonly settings: PersonalTokenSettings },
): (ctx: RequestContext, user: User) => Promise<OwnPersonalTokens> {
  const { gate, issuer, resources } = options;
  const once = createOnce(storage.idempotency);

  return async function ownTokensOf(ctx, user) {
    const userPermissions = gate.effectivePermissions(await users.of(user));
    const mayUse = !gate.has(USE_PERSONAL_TOKENS) || userPermissions.has(USE_PERSONAL_TOKENS);
    const origin = { ...originOf(ctx), actorId: user.id };

    async function isLoginFresh(): Promise<boolean> {
      const at = await sessions.authenticatedAt(ctx, user);
      return at !== undefined && now() - at <= settings.loginAge;
    }

    /**
     * What a token of an API can be limited to: each scope or permission that permits the user something now, and each scope without
     * permissions here, such as that of another service.
     */
    function choicesOf(resource: string): readonly TokenChoice[] {
      const { scopes } = resources.get(resource)!;
      if (scopes.size === 0) {
        return [...userPermissions.keys()].map((name) => ({
          name,
          description: gate.permissions[name]!.description,
        }));
      }
      return [...scopes].flatMap(([name, { description, permissions }]) =>
        permissions.length === 0 || permissions.some((permission) => userPermissions.has(permission))
          ? [{ name, description }]
          : [],
      );
    }

    return {
      mayUse,
      ...settings,
      apis: [...resources].map(([resource, { name, scopes }]) => ({
        resource: resource === issuer ? undefined : resource,
        name,
        kind: scopes.size === 0 ? 'permission' : 'scope',
        choices: choicesOf(resource),
      })),
      isLoginFresh,
      list: async () => tokens.list(user.id),
      async create({ chosen, resource, ...given }, key) {
        if (!mayUse) {
          const permission = gate.permissions[USE_PERSONAL_TOKENS];
          throw new PermissionMissingError(
            USE_PERSONAL_TOKENS,
            permission?.message ?? missingPermission(USE_PERSONAL_TOKENS),
          );
        }
        // Read before the login is checked again, so that an end of the user from here on ends this token too.
        const sequence = await storage.revocations.latestSequence();
        if (!(await isLoginFresh())) throw new LoginRequiredError();
        const { scopes } = resources.get(resource ?? issuer) ?? { scopes: undefined };
        const access = scopes?.size === 0 ? { permissions: chosen } : { scopes: chosen };
        return once([user.id, 'createPersonalToken', key], async () =>
          tokens.create({ ...given, ...access, resource, userId: user.id }, origin, sequence),
        );
      },
      revoke: async (id) => tokens.revokeOfUser(user.id, id, origin),
    };
  };
}

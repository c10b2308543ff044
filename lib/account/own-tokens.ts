import { USE_PERSONAL_TOKENS } from '../access/personal-token.ts';
import { now } from '../contracts/clock.ts';
import type {
  Assignment,
  AuditOrigin,
  Gate,
  IdempotencyStore,
  InteractionFlow,
  OwnPersonalTokens,
  Seconds,
  TokenChoice,
  User,
} from '../contracts/index.ts';
import { LoginRequiredError, missingPermission, PermissionMissingError } from '../errors.ts';
import type { ManagedPersonalTokens } from '../personal-tokens/personal-tokens.ts';
import { createOnce } from './once.ts';

/** What `createOwnTokens()` takes. */
export interface OwnTokenPorts {
  readonly assignmentOf: (user: User) => Promise<Assignment>;
  /** When the user of the browser has given the password, from a new read. `undefined`: not known. */
  readonly authenticatedAt: (ctx: RequestContext, user: User) => Promise<Seconds | undefined>;
  readonly gate: Pick<Gate, 'effective' | 'has' | 'permissions'>;
  readonly idempotency: IdempotencyStore;
  readonly issuer: string;
  readonly latestSequence: () => Promise<number>;
  readonly originOf: (ctx: RequestContext) => Omit<AuditOrigin, 'actorId'>;
  readonly resources: ReadonlyMap<
    string,
    {
      readonly name: string;
      readonly scopes: ReadonlyMap<
        string,
        { readonly description: string; readonly permissions: readonly string[] }
      >;
    }
  >;
  readonly settings: { readonly maxLifetime: Seconds; readonly perUser: number; readonly loginAge: Seconds };
  readonly tokens: ManagedPersonalTokens;
}

type RequestContext = Parameters<InteractionFlow['currentUser']>[0];

/** Creates the function that lists, creates and ends the personal access tokens of a user for the pages. */
export function createOwnTokens(
  ports: OwnTokenPorts,
): (ctx: RequestContext, user: User) => Promise<OwnPersonalTokens> {
  const { gate, issuer, resources, settings, tokens } = ports;
  const once = createOnce(ports.idempotency);

  return async function ownTokensOf(ctx, user) {
    const held = gate.effective(await ports.assignmentOf(user));
    const mayUse = !gate.has(USE_PERSONAL_TOKENS) || held.has(USE_PERSONAL_TOKENS);
    const origin = { ...ports.originOf(ctx), actorId: user.id };

    async function isLoginFresh(): Promise<boolean> {
      const at = await ports.authenticatedAt(ctx, user);
      return at !== undefined && now() - at <= settings.loginAge;
    }

    /** What a token of an API can be limited to: what permits the user something now, or nothing here, as a scope of another service. */
    function choicesOf(resource: string): readonly TokenChoice[] {
      const { scopes } = resources.get(resource)!;
      if (scopes.size === 0) {
        return [...held.keys()].map((name) => ({ name, description: gate.permissions[name]!.description }));
      }
      return [...scopes].flatMap(([name, { description, permissions }]) =>
        permissions.length === 0 || permissions.some((permission) => held.has(permission))
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
        // Before the login is read anew: whoever ends the user from here on ends this token too.
        const sequence = await ports.latestSequence();
        if (!(await isLoginFresh())) throw new LoginRequiredError();
        const { scopes } = resources.get(resource ?? issuer) ?? { scopes: undefined };
        const access = scopes?.size === 0 ? { permissions: chosen } : { scopes: chosen };
        return once([user.id, 'createPersonalToken', key], async () =>
          tokens.create({ ...given, ...access, resource, user: user.id }, origin, sequence),
        );
      },
      end: async (id) => tokens.revokeOfUser(user.id, id, origin),
    };
  };
}

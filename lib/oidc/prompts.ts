import { interactionPolicy } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { User } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { isConsentMissing } from './consent.ts';
import { requestOf } from './engine-request.ts';

/** The `amr` value of a session that the host's own login began; RFC 8176 registers none for that. */
export const HOST_LOGIN = 'host';

/** The prompts for login and consent: the engine's checks, and checks of this server. */
export function createPrompts(currentUser: ResolvedOptions['currentUser']): interactionPolicy.DefaultPolicy {
  const { Check, base } = interactionPolicy;
  const policy = base();
  const login = policy.get('login')!;
  const consent = policy.get('consent')!;
  login.checks.add(
    new Check('user_gone', 'the user does not exist any more', 'login_required', isUserMissing),
  );
  if (currentUser) {
    login.checks.add(
      new Check('host_session', 'the login of the host has changed', 'login_required', async (ctx) =>
        isHostLoginNeeded(ctx, currentUser),
      ),
    );
  }
  // RFC 9396 is not offered. The check for native clients requires consent at each request, but a stored consent is valid for
  // them too.
  consent.checks.remove('rar_prompt');
  consent.checks.remove('native_client_prompt');
  consent.checks.add(
    new Check('no_consent', 'consent was never given', 'consent_required', isConsentMissing),
  );
  return policy;
}

/** Without this check the engine would look for the grant of a deleted user, and fail. */
function isUserMissing(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined;
}

/** The host's session takes precedence: another user there, or a logout there, requires a login here. */
async function isHostLoginNeeded(
  ctx: KoaContextWithOIDC,
  currentUser: NonNullable<ResolvedOptions['currentUser']>,
): Promise<boolean> {
  const { session, result } = ctx.oidc;
  if (result?.login || !session?.accountId) return false;
  return hasHostLoginChanged(await currentUser(requestOf(ctx).host), session);
}

/** The `amr` value of a session that began with a login here while the host named another user, such as one unknown here. */
export function otherHostUserAmr(hostUser: User): string {
  return `${HOST_LOGIN}:${hostUser.id}`;
}

/** Whether a login session does not, or no longer, match the user whom the host names. */
export function hasHostLoginChanged(
  hostUser: User | undefined,
  { accountId, amr = [] }: { readonly accountId?: string | undefined; readonly amr?: string[] | undefined },
): boolean {
  return hostUser
    ? hostUser.id !== accountId && !amr.includes(otherHostUserAmr(hostUser))
    : amr.includes(HOST_LOGIN);
}

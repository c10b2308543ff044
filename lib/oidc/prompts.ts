import { interactionPolicy } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { User } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { isConsentMissing } from './consent.ts';
import { requestOf } from './engine-request.ts';

/** How a session says that the host's own login began it (RFC 8176 has no name for that). */
export const HOST_LOGIN = 'host';

/** When a person has to be asked: the engine's own reasons, and those that it does not know. */
export function createPrompts(currentUser: ResolvedOptions['currentUser']): interactionPolicy.DefaultPolicy {
  const { Check, base } = interactionPolicy;
  const policy = base();
  const login = policy.get('login')!;
  const consent = policy.get('consent')!;
  login.checks.add(new Check('user_gone', 'the user does not exist any more', 'login_required', isUserGone));
  if (currentUser) {
    login.checks.add(
      new Check('host_session', 'the login of the host has changed', 'login_required', async (ctx) =>
        isHostLoginNeeded(ctx, currentUser),
      ),
    );
  }
  // Rich authorization requests are not offered, and a remembered consent is good for native apps too.
  consent.checks.remove('rar_prompt');
  consent.checks.remove('native_client_prompt');
  consent.checks.add(
    new Check('no_consent', 'consent was never given', 'consent_required', isConsentMissing),
  );
  // What the page says has to be what is agreed to, whatever becomes of the client in the meantime.
  consent.details = (ctx) => ({ limited: requestOf(ctx).asksForNothing });
  return policy;
}

/** Left to itself the engine looks for the grant of a user whom it did not find, and fails. */
function isUserGone(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined;
}

/** The host's session has the last word: another user there, or a logout there, asks for a login here. */
async function isHostLoginNeeded(
  ctx: KoaContextWithOIDC,
  currentUser: NonNullable<ResolvedOptions['currentUser']>,
): Promise<boolean> {
  const { session, result } = ctx.oidc;
  if (result?.login || !session?.accountId) return false;
  return hasHostLoginChanged(await currentUser(requestOf(ctx).host), session);
}

/** How a session says that somebody logged in here although the host named another user, such as one who is not known here. */
export function besidesHostLogin(hostUser: User): string {
  return `${HOST_LOGIN}:${hostUser.id}`;
}

/** Tells whether a login here is not, or no longer, that of the user whom the host names. */
export function hasHostLoginChanged(
  hostUser: User | undefined,
  { accountId, amr = [] }: { readonly accountId?: string | undefined; readonly amr?: string[] | undefined },
): boolean {
  return hostUser
    ? hostUser.id !== accountId && !amr.includes(besidesHostLogin(hostUser))
    : amr.includes(HOST_LOGIN);
}

import { interactionPolicy } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { ResolvedOptions } from '../options.ts';
import { isConsentMissing } from './consent.ts';
import { stateOf } from './request-state.ts';

/** How a session says that the host's own login began it (RFC 8176 has no name for that). */
export const HOST_LOGIN = 'host';

/** When a person has to be asked: the engine's own reasons, and those that it does not know. */
export function createPrompts(currentUser: ResolvedOptions['currentUser']): interactionPolicy.DefaultPolicy {
  const { Check, base } = interactionPolicy;
  const policy = base();
  const login = policy.get('login')!;
  const consent = policy.get('consent')!;
  if (currentUser) {
    login.checks.add(
      new Check('host_session', 'the login of the host has changed', 'login_required', async (ctx) =>
        hasHostLoginChanged(ctx, currentUser),
      ),
    );
  }
  // Rich authorization requests are not offered, and a remembered consent is good for native apps too.
  consent.checks.remove('rar_prompt');
  consent.checks.remove('native_client_prompt');
  consent.checks.add(
    new Check('no_consent', 'consent was never given', 'consent_required', isConsentMissing),
  );
  return policy;
}

/** The host's session has the last word: another user there, or a logout there, asks for a login here. */
async function hasHostLoginChanged(
  ctx: KoaContextWithOIDC,
  currentUser: NonNullable<ResolvedOptions['currentUser']>,
): Promise<boolean> {
  const { session, result } = ctx.oidc;
  if (result?.login || !session?.accountId) return false;
  const user = await currentUser(stateOf(ctx).host);
  return user ? user.id !== session.accountId : (session.amr?.includes(HOST_LOGIN) ?? false);
}

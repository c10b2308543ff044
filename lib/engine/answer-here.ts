import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider';

/**
 * Shows errors of the authorization endpoint to people who are not signed in, instead of sending them to the app: whoever
 * registers an app could otherwise make links to this server that lead anybody anywhere at once (RFC 9700 section 4.11.2).
 * An app that asks with `prompt=none` shows no page, so it gets its answer.
 */
export function answerStrangersHere(provider: Provider): void {
  provider.on('authorization.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    if (ctx.oidc.session?.accountId === undefined && !isSilent(ctx)) error.allow_redirect = false;
  });
}

function isSilent(ctx: KoaContextWithOIDC): boolean {
  const prompt = ctx.oidc.params?.['prompt'] ?? ctx.query['prompt'];
  return typeof prompt === 'string' && prompt.split(' ').includes('none');
}

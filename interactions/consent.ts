import type { Context } from 'koa';
import type { Interaction } from '../lib/contracts/index.ts';
import { sentence } from './sentence.ts';
import type { PageContext } from './page-context.ts';
import { displayName } from './viewer.ts';

/** Shows the consent page: the app, the API and the scopes it asks for, the signed-in user, and the destination of the redirect. */
export function askForConsent(ctx: Context, interaction: Interaction, pageContext: PageContext): void {
  const { brand, nameOf, show, text } = pageContext;
  const { action, canSwitchUser, client, limited, redirectUri, resource, scopes, user } = interaction;
  const names = { client: client.name, brand };
  show(ctx, {
    view: 'consent',
    heading: sentence(text['consent.heading'], names),
    lead: sentence(text['consent.lead'], names),
    formsStayHere: false,
    action,
    scopes: scopes.map((scope) => nameOf('scope', scope, resource?.resource)),
    limited,
    user: user && displayName(user),
    canSwitchUser,
    resource: resource?.name,
    destination: destination(redirectUri),
  });
}

// A private-use scheme (RFC 8252 section 7.1) has no origin: `com.example.app:/callback` opens the app that has registered
// `com.example.app:`.
function destination(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return redirectUri;
  return url.origin === 'null' ? url.protocol : url.origin;
}

import type { Context } from 'koa';
import type { Interaction } from '../lib/contracts/index.ts';
import { readForm } from '../lib/http/form.ts';
import { checkedScopes, describeAccess, isNothingLeft, nothingLeft } from './access.ts';
import type { Problem } from './page.ts';
import { sentence } from './sentence.ts';
import type { PageContext } from './page-context.ts';
import { nameOfApp, warningsFor } from './unregistered.ts';
import { displayName } from './viewer.ts';

/**
 * Shows the consent page: the app, the API and the scopes it asks for, the signed-in user, and the destination of the redirect. The
 * scopes that the user can decline have check boxes, which are checked at first.
 */
export function askForConsent(ctx: Context, interaction: Interaction, pageContext: PageContext): void {
  showConsent(ctx, interaction, pageContext, { status: 200, isChecked: true, problems: [] });
}

/** Grants the checked scopes. Resolves to the URL to redirect to, or shows the page again with 422 when nothing is left. */
export async function submitConsent(
  ctx: Context,
  interaction: Interaction,
  pageContext: PageContext,
): Promise<string | undefined> {
  const checked = checkedScopes(await readForm(ctx));
  if (!isNothingLeft(interaction.scopes, checked)) return pageContext.flow.consent(ctx, interaction, checked);
  const problems = [nothingLeft(pageContext)];
  showConsent(ctx, interaction, pageContext, { status: 422, isChecked: false, problems });
  return undefined;
}

function showConsent(
  ctx: Context,
  interaction: Interaction,
  pageContext: PageContext,
  { isChecked, ...page }: { status: number; isChecked: boolean; problems: readonly Problem[] },
): void {
  const { action, canSwitchUser, client, redirectUri, resource, user } = interaction;
  const { brand, show, text } = pageContext;
  const names = { client: nameOfApp(client, text), brand };
  const access = describeAccess(interaction, pageContext, isChecked);
  show(ctx, {
    view: 'consent',
    ...page,
    heading: sentence(text['consent.heading'], names),
    lead: sentence(text[access.consented.length > 0 ? 'consent.leadMore' : 'consent.lead'], names),
    formsStayHere: false,
    warnings: warningsFor(interaction, pageContext),
    action,
    ...access,
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

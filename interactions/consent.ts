import type { Context } from 'koa';
import type { Interaction, InteractionScope } from '../lib/contracts/index.ts';
import { readForm } from '../lib/http/body.ts';
import type { Problem } from './page.ts';
import { sentence } from './sentence.ts';
import type { PageContext } from './page-context.ts';
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
  const checked = Object.entries(await readForm(ctx))
    .filter(([field]) => field.startsWith(FIELD))
    .map(([, value]) => value);
  const { scopes } = interaction;
  const isNothingLeft = scopes.length > 0 && checked.length === 0 && scopes.every(({ optional }) => optional);
  if (!isNothingLeft) return pageContext.flow.consent(ctx, interaction, checked);
  const problems = [{ field: `${FIELD}0`, message: pageContext.text['consent.problem.nothing'] }];
  showConsent(ctx, interaction, pageContext, { status: 422, isChecked: false, problems });
  return undefined;
}

// Numbered, because a scope may contain characters that field names cannot. A value, not the number, is the scope.
const FIELD = 'scope-';

function showConsent(
  ctx: Context,
  interaction: Interaction,
  { brand, nameOf, show, text }: PageContext,
  { isChecked, ...page }: { status: number; isChecked: boolean; problems: readonly Problem[] },
): void {
  const { action, canSwitchUser, client, limited, redirectUri, resource, scopes, user } = interaction;
  const names = { client: client.name, brand };
  const labelOf = (scope: InteractionScope): string => nameOf('scope', scope, resource?.resource);
  const consented = scopes.filter((scope) => scope.consented).map(labelOf);
  show(ctx, {
    view: 'consent',
    ...page,
    heading: sentence(text['consent.heading'], names),
    lead: sentence(text[consented.length > 0 ? 'consent.leadMore' : 'consent.lead'], names),
    formsStayHere: false,
    action,
    scopes: scopes.filter((scope) => !scope.optional && !scope.consented).map(labelOf),
    optional: scopes
      .filter(({ optional }) => optional)
      .map((scope, index) => ({
        field: `${FIELD}${index}`,
        name: scope.name,
        label: labelOf(scope),
        isChecked,
      })),
    consented,
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

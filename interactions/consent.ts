import type { Interaction } from '../lib/contracts/index.ts';
import { readForm } from '../lib/http/form.ts';
import { aboutApp } from './about-app.ts';
import { checkedBoxes, accessOf, isNothingLeft, nothingLeft } from './access.ts';
import { destination } from './navigation.ts';
import type { FieldProblem } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
import { nameOfApp, warningsFor } from './unregistered.ts';
import { displayName } from './viewer.ts';

/**
 * Shows the consent page: the app, the API and the scopes it asks for, the signed-in user, and the destination of the redirect. The
 * scopes that the user can decline have check boxes, which are checked at first.
 */
export function askForConsent(request: PageRequest, interaction: Interaction): void {
  showConsent(request, interaction, { status: 200, isChecked: true, problems: [] });
}

/** Grants the checked scopes. Resolves to the URL to redirect to, or shows the page again with 422 when nothing is left. */
export async function submitConsent(
  request: PageRequest,
  interaction: Interaction,
): Promise<string | undefined> {
  const { ctx, flow } = request;
  const checked = checkedBoxes(await readForm(ctx));
  if (!isNothingLeft(interaction.scopes, checked)) return flow.consent(ctx, interaction, checked);
  showConsent(request, interaction, { status: 422, isChecked: false, problems: [nothingLeft(request)] });
  return undefined;
}

function showConsent(
  request: PageRequest,
  interaction: Interaction,
  { isChecked, ...page }: { status: number; isChecked: boolean; problems: readonly FieldProblem[] },
): void {
  const { action, canSwitchUser, client, redirectUri, resource, user } = interaction;
  const { brand, show, text } = request;
  const names = { client: nameOfApp(client, text), brand };
  const access = accessOf(interaction, request, isChecked);
  show({
    view: 'consent',
    ...page,
    heading: sentence(text['consent.heading'], names),
    lead: sentence(text[access.consented.length > 0 ? 'consent.leadMore' : 'consent.lead'], names),
    formsStayHere: false,
    about: aboutApp(client, request),
    warnings: warningsFor(interaction, request),
    action,
    ...access,
    user: user && displayName(user),
    canSwitchUser,
    resource: resource?.name,
    destination: destination(redirectUri, text),
  });
}

import type { ConsentForm, NamedResource } from '../lib/contracts/index.ts';
import { vouchedForBy } from '../lib/contracts/trust.ts';
import { aboutApp } from './about-app.ts';
import { accessOf, nothingLeft } from './access.ts';
import { destination } from './navigation.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import { hostOf, nameOfApp, warningsFor } from './unregistered.ts';
import { displayName } from './viewer.ts';

/**
 * Shows the consent page: the app, the API and the scopes it asks for, the signed-in user, and the destination of the redirect. The
 * scopes that the user can decline have check boxes.
 */
export function showConsent(request: PageRequest, form: ConsentForm): void {
  const { action, canSwitchUser, client, problems, redirectUri, resource, status, user } = form;
  const { brand, show, text } = request;
  const names = { client: nameOfApp(client, text), brand };
  const access = accessOf(form, request);
  show({
    view: 'consent',
    status,
    problems: problems.map(() => nothingLeft(form, request)),
    heading: sentence(text['consent.heading'], names),
    lead: sentence(text[access.consented.length > 0 ? 'consent.leadMore' : 'consent.lead'], names),
    formsStayHere: false,
    about: aboutApp(client, request),
    warnings: warningsFor(form, request),
    action,
    ...access,
    user: user && displayName(user),
    canSwitchUser,
    resource: nameOfApi(resource, request),
    destination: destination(redirectUri, text),
    registered: whoRegistered(form, request),
    notes: [...(form.remembered ? [] : [sentence(text['consent.asksAgain'])]), ...endOfAccess(form, request)],
  });
}

/** The name of an API; where it has none, its URL, and that it has none. `undefined`: it is that of the platform itself. */
export function nameOfApi(
  api: NamedResource | undefined,
  { text }: Pick<PageRequest, 'text'>,
): string | undefined {
  if (!api || api.name !== api.resource) return api?.name;
  return plain(sentence(text['consent.resource.unnamed'], { name: api.name }));
}

/** How users withdraw what they allow, and when it ends without that. */
export function endOfAccess(
  { lifetime }: Pick<ConsentForm, 'lifetime'>,
  { clock, server, text }: Pick<PageRequest, 'clock' | 'server' | 'text'>,
): readonly Sentence[] {
  return [
    ...(server.accountPath === undefined ? [] : [sentence(text['consent.disconnect'])]),
    sentence(text['consent.lifetime'], { hint: clock.span(lifetime) }),
  ];
}

function whoRegistered(
  { client }: Pick<ConsentForm, 'client'>,
  { brand, text }: Pick<PageRequest, 'brand' | 'text'>,
): string {
  const by = vouchedForBy(client);
  if (by === 'nobody') {
    const name = hostOf(client);
    if (name === undefined) return text[`source.${client.source}.name`] ?? client.source;
    return plain(sentence(text['consent.registered.nobody'], { name }));
  }
  return plain(sentence(text[`consent.registered.${by}`], { brand }));
}

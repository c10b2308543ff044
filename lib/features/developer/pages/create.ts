import { randomUUID } from 'node:crypto';
import type { Client, ClientFields } from '../../../contracts/index.ts';
import { readForm, readOnce } from '../../../http/form.ts';
import { seeOther } from '../../../../interactions/navigation.ts';
import { sentence } from '../../../../interactions/sentence.ts';
import { connectOf } from './connect.ts';
import { fieldsForPeople, formErrorOf, homepageOf, readAppForm } from './form.ts';
import type { FormError } from './form.ts';
import type { AppForm } from './view-types.ts';
import { afterwards, appPath, nameOfArea } from './request.ts';
import type { DeveloperRequest } from './request.ts';

/** Shows the form for a new app. */
export async function askForNewApp(request: DeveloperRequest): Promise<void> {
  const form: AppForm = {
    name: '',
    clientUri: '',
    verified: false,
    grantType: 'authorization_code',
    place: 'server',
    redirectUris: '',
    further: {},
    firstParty: false,
  };
  showForm(request, form, { once: randomUUID() });
}

/**
 * Registers an app. Only the response shows its first secret. The same form sent again, by a second click or a reload, creates
 * no second app and redirects to the list.
 */
export async function createApp(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home } = request;
  const posted = await readForm(ctx);
  const form = readAppForm(posted);
  const once = readOnce(posted);
  try {
    const created = await developer.create(fieldsOf(form, request), once);
    if (!created) return seeOther(ctx, afterwards(home, 'createdBefore'));
    const { client, secret } = created;
    if (secret) return showCreated(request, client, secret.value);
    return seeOther(ctx, afterwards(appPath(home, client.id), 'created'));
  } catch (error) {
    return showForm(request, form, { once, ...formErrorOf(error, request) });
  }
}

function fieldsOf(
  form: AppForm,
  { developer, flow: { clientKinds: kinds } }: Pick<DeveloperRequest, 'developer' | 'flow'>,
): Omit<ClientFields, 'ownerId'> {
  // The registry refuses an unknown grant type.
  const { firstParty, grantType, name } = form;
  return {
    name,
    ...homepageOf(form),
    grantType,
    // Those of another kind are hidden, so what was typed before the kind was changed is no part of the app.
    ...(grantType === 'authorization_code'
      ? { ...fieldsForPeople(form, developer.furtherFields), ...(firstParty && { firstParty }) }
      : {}),
    ...(kinds.on.get(grantType)?.isPublic && { confidential: false }),
  };
}

function showForm(
  request: DeveloperRequest,
  form: AppForm,
  page: { once: string } & Partial<FormError>,
): void {
  const { developer, flow, home, show, text } = request;
  show({
    view: 'apps/new',
    heading: sentence(text['apps.new']),
    above: { href: home, label: text[nameOfArea(developer)] },
    action: `${home}/new`,
    kinds: [...flow.clientKinds.on.keys()],
    form,
    mayBeFirstParty: developer.administrator,
    cancel: home,
    scripts: ['send-once.js'],
    ...page,
  });
}

function showCreated(request: DeveloperRequest, client: Client, secret: string): void {
  const { home, show, text } = request;
  const path = appPath(home, client.id);
  const isService = client.grantType === 'client_credentials';
  show({
    view: 'apps/created',
    heading: sentence(text['apps.createdHeading'], { client: client.name }),
    lead: sentence(text['apps.secretOnce']),
    clientId: client.id,
    secret,
    connect: connectOf(client, request),
    next: [
      ...(isService ? [{ href: `${path}/permissions`, label: text['apps.givePermissions'] }] : []),
      { href: path, label: text['apps.goToApp'] },
    ],
    scripts: ['copy.js'],
  });
}

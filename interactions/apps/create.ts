import { randomUUID } from 'node:crypto';
import type { ClientFields, ClientGrantType } from '../../lib/contracts/index.ts';
import { readForm } from '../../lib/http/body.ts';
import { seeOther } from '../navigation.ts';
import type { Problem } from '../page.ts';
import { sentence } from '../sentence.ts';
import { connectOf } from './connect.ts';
import { fieldsForPeople, readAppForm, refusalOf } from './form.ts';
import type { AppForm } from './views.ts';
import { afterwards, appPath, onceOf, showPage } from './visit.ts';
import type { Visit } from './visit.ts';

/** Asks for what a new app needs. */
export async function askForNewApp(visit: Visit): Promise<void> {
  const form: AppForm = {
    name: '',
    grantType: 'authorization_code',
    place: 'server',
    redirectUris: '',
    firstParty: false,
  };
  showForm(visit, form, { once: randomUUID() });
}

/**
 * Registers an app. Its first secret is on the page that answers, and nowhere else: the same form sent again, by a second
 * click or a reload, makes no second app and leads to the list.
 */
export async function createApp(visit: Visit): Promise<void> {
  const { ctx, developer, home, site } = visit;
  const posted = await readForm(ctx);
  const form = readAppForm(posted);
  const once = onceOf(posted);
  try {
    const created = await developer.create(fieldsOf(form), once);
    if (!created) seeOther(ctx, afterwards(home, 'createdBefore'));
    else if (created.secret === undefined)
      seeOther(ctx, afterwards(appPath(home, created.client.id), 'created'));
    else showCreated(visit, created.client, created.secret.value);
  } catch (error) {
    showForm(visit, form, { once, ...refusalOf(error, site.text) });
  }
}

function fieldsOf(form: AppForm): Omit<ClientFields, 'ownerId'> {
  const { firstParty, name } = form;
  // Anything else is the registry's to refuse.
  const grantType = form.grantType as ClientGrantType;
  return {
    name,
    grantType,
    ...(grantType === 'client_credentials' ? {} : fieldsForPeople(form)),
    ...(firstParty ? { firstParty } : {}),
  };
}

function showForm(
  visit: Visit,
  form: AppForm,
  page: { once: string; status?: number; problems?: readonly Problem[] },
): void {
  const { developer, home, site } = visit;
  showPage(visit, {
    view: 'apps/new',
    heading: sentence(site.text['apps.newHeading']),
    above: { href: home, label: site.text['page.apps'] },
    action: `${home}/new`,
    form,
    mayBeFirstParty: developer.administrator,
    cancel: home,
    scripts: ['send-once.js'],
    ...page,
  });
}

function showCreated(visit: Visit, client: Parameters<typeof connectOf>[0], secret: string): void {
  const { home, site } = visit;
  const { text } = site;
  const isService = client.grantType === 'client_credentials';
  showPage(visit, {
    view: 'apps/created',
    heading: sentence(text['apps.createdHeading'], { client: client.name }),
    lead: sentence(text['apps.secretOnce']),
    clientId: client.id,
    secret,
    connect: connectOf(client, site.flow),
    next: [
      ...(isService
        ? [{ href: appPath(home, client.id, 'permissions'), label: text['apps.givePermissions'] }]
        : []),
      { href: appPath(home, client.id), label: text['apps.goToApp'] },
    ],
    scripts: ['copy.js'],
  });
}

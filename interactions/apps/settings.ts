import type { Client, ClientFields } from '../../lib/contracts/index.ts';
import { readForm } from '../../lib/http/form.ts';
import { seeOther } from '../navigation.ts';
import type { Problem } from '../page.ts';
import { printable } from '../sentence.ts';
import { displayName } from '../viewer.ts';
import { connectOf } from './connect.ts';
import {
  fieldsForPeople,
  formOf,
  kindOf,
  readAppForm,
  formErrorOf,
  versionCondition,
  versionOf,
} from './form.ts';
import type { AppForm } from './views.ts';
import { afterwards, appPath, findApp, frameOf, showPage, readDone } from './developer-request.ts';
import type { DeveloperRequest } from './developer-request.ts';

/** Shows an app: its client id, the form of its settings, and how to connect it. */
export async function showSettings(request: DeveloperRequest): Promise<void> {
  const client = await findApp(request);
  await show(request, client, { form: formOf(client) });
}

/** Saves the form. */
export async function saveSettings(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, pageContext } = request;
  const client = await findApp(request);
  const posted = await readForm(ctx);
  const form = readAppForm(posted);
  try {
    await developer.update(client.id, changesOf(form, client, request), versionCondition(posted));
  } catch (error) {
    return show(request, await findApp(request), { form, ...formErrorOf(error, pageContext.text) });
  }
  return seeOther(ctx, afterwards(appPath(home, client.id), 'saved'));
}

function changesOf(
  form: AppForm,
  client: Client,
  { developer }: DeveloperRequest,
): Partial<Omit<ClientFields, 'grantType' | 'ownerId'>> {
  const { firstParty, name } = form;
  if (client.grantType !== 'authorization_code') return firstParty ? { name, firstParty } : { name };
  const { confidential, native = client.native, redirectUris } = fieldsForPeople(form);
  return {
    name,
    redirectUris: redirectUris ?? [],
    // A confidential client stays confidential; a public one can change between browser and device.
    native: !client.confidential && confidential !== true && native,
    // Only administrators have the box in their form; without the box, an unchecked value means no change.
    ...(developer.administrator || firstParty ? { firstParty } : {}),
  };
}

async function show(
  request: DeveloperRequest,
  client: Client,
  page: { form: AppForm; status?: number; problems?: readonly Problem[] },
): Promise<void> {
  const { developer, home, pageContext } = request;
  const { clock, flow, text } = pageContext;
  const owner = developer.administrator ? await developer.owner(client) : undefined;
  const mayEnable = client.disabled && (await developer.canEnable(client.id));
  // Only administrators may change a first-party app, so other developers get no form.
  const isOfDocument = client.registration === 'metadata_document';
  const isFixed = isOfDocument || (client.firstParty && !developer.administrator);
  const kind = text[`apps.kind.${kindOf(client)}.name`];
  showPage(request, {
    view: 'apps/settings',
    ...frameOf(request, client, 'settings'),
    done: readDone(request),
    action: appPath(home, client.id),
    version: versionOf(client),
    mayBeFirstParty: developer.administrator && client.registration === 'manual',
    fixed: isFixed ? text[isOfDocument ? 'apps.documentFixed' : 'apps.firstPartyFixed'] : undefined,
    hasPeople: client.grantType === 'authorization_code',
    hasPlace: client.grantType === 'authorization_code' && !client.confidential,
    facts: [
      { label: text['apps.kind'], value: kind },
      ...(client.registration === 'manual'
        ? []
        : [
            {
              label: text['apps.registration'],
              value: text[`apps.registration.${client.registration}`],
            },
            { label: text['apps.callsItself'], value: printable(client.name) },
          ]),
      { label: text['apps.created'], value: clock.day(client.createdAt).words },
      ...(owner ? [{ label: text['apps.owner'], value: displayName(owner) }] : []),
      ...(isFixed ? client.redirectUris : []).map((value) => ({ label: text['apps.redirectUris'], value })),
    ],
    clientId: client.id,
    connect: connectOf(client, flow),
    enable: mayEnable ? appPath(home, client.id, 'enable') : undefined,
    revoke: appPath(home, client.id, 'revoke'),
    disable: appPath(home, client.id, 'disable'),
    // A disabled one would come back with its next request.
    delete: isOfDocument && client.disabled ? undefined : appPath(home, client.id, 'delete'),
    scripts: ['copy.js'],
    ...page,
  });
}

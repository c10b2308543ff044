import type { Client, ClientFields } from '../../lib/contracts/index.ts';
import { readForm } from '../../lib/http/body.ts';
import { seeOther } from '../navigation.ts';
import type { Problem } from '../page.ts';
import { displayName } from '../viewer.ts';
import { connectOf } from './connect.ts';
import { fieldsForPeople, formOf, kindOf, readAppForm, formErrorOf, stateSeen, versionOf } from './form.ts';
import type { AppForm } from './views.ts';
import { afterwards, appPath, findApp, frameOf, showPage, whatWasDone } from './developer-request.ts';
import type { DeveloperRequest } from './developer-request.ts';

/** Shows an app: its client id, what can be changed, and how to connect it. */
export async function showSettings(request: DeveloperRequest): Promise<void> {
  const client = await findApp(request);
  await show(request, client, { form: formOf(client) });
}

/** Saves what was changed. */
export async function saveSettings(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, pageContext } = request;
  const client = await findApp(request);
  const posted = await readForm(ctx);
  const form = readAppForm(posted);
  try {
    await developer.update(client.id, changesOf(form, client, request), stateSeen(posted));
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
  if (client.grantType === 'client_credentials') return firstParty ? { name, firstParty } : { name };
  const { confidential, native = client.native, redirectUris } = fieldsForPeople(form);
  return {
    name,
    redirectUris: redirectUris ?? [],
    // An app that keeps a secret stays one; those without move between browser and device.
    native: !client.confidential && confidential !== true && native,
    // The form of a person who may not decide it has no box for it.
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
  // They would be told so when they save.
  const isFixed = client.firstParty && !developer.administrator;
  const kind = text[`apps.kind.${kindOf(client)}.name`];
  showPage(request, {
    view: 'apps/settings',
    ...frameOf(request, client, 'settings'),
    done: whatWasDone(request),
    action: appPath(home, client.id),
    version: versionOf(client),
    mayBeFirstParty: developer.administrator,
    isFixed,
    hasPeople: client.grantType === 'authorization_code',
    hasPlace: client.grantType === 'authorization_code' && !client.confidential,
    facts: [
      { label: text['apps.kind'], value: kind },
      { label: text['apps.created'], value: clock.day(client.createdAt).words },
      ...(owner ? [{ label: text['apps.owner'], value: displayName(owner) }] : []),
      ...(isFixed ? client.redirectUris : []).map((value) => ({ label: text['apps.redirectUris'], value })),
    ],
    clientId: client.id,
    connect: connectOf(client, flow),
    enable: mayEnable ? appPath(home, client.id, 'enable') : undefined,
    revoke: appPath(home, client.id, 'revoke'),
    disable: appPath(home, client.id, 'disable'),
    delete: appPath(home, client.id, 'delete'),
    scripts: ['copy.js'],
    ...page,
  });
}

import { isRegistered } from '../../../contracts/trust.ts';
import { pagesOfFeatures } from '../../../../interactions/feature-pages.ts';
import type { ClientFields } from '../../../contracts/index.ts';
import { readForm, readFormFile } from '../../../http/form.ts';
import { logoUrl } from '../../../../interactions/about-app.ts';
import { printable, sentence } from '../../../../interactions/sentence.ts';
import { displayName } from '../../../../interactions/viewer.ts';
import { connectOf } from './connect.ts';
import { afterwards, frameOf, readDone, saveApp } from './request.ts';
import type { AppRequest } from './request.ts';
import {
  fieldsForPeople,
  formErrorOf,
  formOf,
  homepageOf,
  nameOfKind,
  readAppForm,
  versionOf,
} from './form.ts';
import type { FormError } from './form.ts';
import type { AppForm, Chart, Usage, UsageRow } from './view-types.ts';
import { seeOther } from '../../../../interactions/navigation.ts';

/** Saves the form. */
export async function saveSettings(request: AppRequest): Promise<void> {
  const posted = await readForm(request.ctx);
  const form = readAppForm(posted);
  return saveApp(request, {
    posted,
    changes: changesOf(form, request),
    page: request.path,
    showAgain: async (stored, wrong) => showSettings(stored, { form, ...wrong }),
  });
}

function changesOf(
  form: AppForm,
  { client, developer }: AppRequest,
): Partial<Omit<ClientFields, 'grantType' | 'ownerId'>> {
  const { firstParty, verified } = form;
  const ofAll = {
    name: form.name,
    ...homepageOf(form),
    // Only administrators have the boxes in their form; without the box, an unchecked value means no change.
    ...(developer.administrator || verified ? { verified } : {}),
  };
  if (client.grantType !== 'authorization_code') return firstParty ? { ...ofAll, firstParty } : ofAll;
  const {
    confidential,
    native = client.native,
    redirectUris,
    ...further
  } = fieldsForPeople(form, developer.furtherFields);
  return {
    ...ofAll,
    redirectUris: redirectUris ?? [],
    ...further,
    // A confidential client stays confidential; a public one can change between browser and device.
    native: !client.confidential && confidential !== true && native,
    ...(developer.administrator || firstParty ? { firstParty } : {}),
  };
}

/** Shows an app: its client id, the form of its settings, and how to connect it. */
export async function showSettings(
  request: AppRequest,
  page: { form: AppForm } & Partial<FormError> = {
    form: formOf(request.client, request.developer.furtherFields),
  },
): Promise<void> {
  const { client, clock, developer, flow, path, text } = request;
  const owner = developer.administrator ? await developer.owner(client) : undefined;
  const facts = await Promise.all(
    pagesOfFeatures(flow).map(async (feature) => feature.facts?.ofApp(request, client)),
  );
  const mayEnable = client.disabled && (await developer.canEnable(client.id));
  // Only administrators may change a first-party app, so other developers get no form.
  const source = flow.clientSources.all.get(client.source);
  const isFixed = source?.decides !== undefined || (client.firstParty && !developer.administrator);
  const isManual = isRegistered(client);
  const isSeen = isManual && client.grantType !== 'client_credentials';
  const kind = nameOfKind(client, text);
  const ofFeatures = text as Readonly<Record<string, string>>;
  request.show({
    view: 'apps/settings',
    ...frameOf(request, 'settings'),
    done: readDone(request),
    action: path,
    version: versionOf(client),
    mayBeFirstParty: developer.administrator && isManual,
    mayVerify: developer.administrator && isSeen,
    isManual,
    logoForm: isSeen ? { action: `${path}/logo`, logo: logoUrl(client, flow) } : undefined,
    fixed: isFixed ? (text[`source.${client.source}.fixed`] ?? text['apps.firstPartyFixed']) : undefined,
    hasPeople: client.grantType === 'authorization_code',
    further: developer.furtherFields
      .filter(({ kinds }) => kinds.includes(client.grantType))
      .map(({ isList, name }) => ({
        field: name,
        label: ofFeatures[`apps.${name}`]!,
        hint: ofFeatures[`apps.${name}Hint`]!,
        isList,
      })),
    hasPlace: client.grantType === 'authorization_code' && !client.confidential,
    facts: [
      { label: text['apps.kind'], value: kind },
      ...(isManual
        ? []
        : [
            { label: text['apps.source'], value: text[`source.${client.source}.name`] ?? client.source },
            { label: text['apps.callsItself'], value: printable(client.name) },
          ]),
      { label: text['apps.created'], value: clock.day(client.createdAt).words },
      ...(owner ? [{ label: text['apps.owner'], value: displayName(owner) }] : []),
      ...(isSeen && !client.firstParty && !developer.administrator
        ? [{ label: text['apps.verified'], value: text[`apps.verified.${client.verified}`] }]
        : []),
      ...facts.filter((fact) => fact !== undefined),
      ...(isFixed ? client.redirectUris : []).map((value) => ({ label: text['apps.redirectUris'], value })),
    ],
    clientId: client.id,
    usage: await usageOf(request),
    connect: connectOf(client, request),
    enable: mayEnable ? `${path}/enable` : undefined,
    revoke: `${path}/revoke`,
    disable: `${path}/disable`,
    // A disabled one would come back with its next request.
    delete: source?.isLive && client.disabled ? undefined : `${path}/delete`,
    returns: text[`source.${client.source}.returns`],
    scripts: ['copy.js'],
    ...page,
  });
}

/** Saves the logo that a form was posted with. */
export async function saveLogo(request: AppRequest): Promise<void> {
  return setLogo(request, await readFormFile(request.ctx, 'logo'));
}

/** Removes the logo of an app. */
export async function removeLogo(request: AppRequest): Promise<void> {
  return setLogo(request, undefined);
}

async function setLogo(request: AppRequest, picture: Uint8Array | undefined): Promise<void> {
  const { client, ctx, developer, path } = request;
  try {
    await developer.setLogo(client.id, picture);
  } catch (error) {
    return showSettings(request, {
      form: formOf(client, request.developer.furtherFields),
      ...formErrorOf(error, request),
    });
  }
  return seeOther(ctx, afterwards(path, 'saved'));
}

const MOST_DAYS = 30;

/** The last days of an app, as bars and as a table. `undefined` when audit events are not stored. */
async function usageOf({ client, clock, count, developer, text }: AppRequest): Promise<Usage | undefined> {
  const usage = await developer.usage(client.id);
  if (!usage) return undefined;
  const { days, limited } = usage;

  function chart(kind: 'issued' | 'refused'): Chart {
    const numbers = days.map((day) => day[kind]);
    const most = Math.max(...numbers);
    return {
      kind,
      label: count(
        `usage.${kind}`,
        numbers.reduce((total, number) => total + number, 0),
      ),
      most: most === 0 ? undefined : count('usage.most', most),
      bars: numbers.map((number) => (number === 0 ? 0 : Math.max(LEAST_HEIGHT, number / most))),
    };
  }

  const rows = days.map(({ at, issued, refused }): UsageRow => ({ day: clock.day(at), issued, refused }));
  return {
    heading: count('usage.days', days.length),
    charts: [chart('issued'), chart('refused')],
    rows: rows.filter(({ issued, refused }) => issued + refused > 0),
    note: limited
      ? sentence(text['usage.limited'])
      : days.length < MOST_DAYS
        ? sentence(text['usage.notStored'])
        : [],
  };
}

// Of a bar that is not empty, so that one refused request among thousands is seen.
const LEAST_HEIGHT = 0.05;

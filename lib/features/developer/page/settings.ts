import type { ClientFields } from '../../../contracts/index.ts';
import { readForm, readFormFile } from '../../../http/form.ts';
import { fieldsForPeople, formOf, homepageOf, readAppForm } from './app-form.ts';
import type { AppForm } from './app-form.ts';
import { afterwards, refusedForm, saveApp, UNPOSTED } from './request.ts';
import type { AnswerApp, OfApp, ShownForm } from './request.ts';

/** The settings of an app. */
export interface SettingsPage extends OfApp, ShownForm {
  readonly kind: 'settings';
  readonly form: AppForm;
  /** Whether the app is disabled and the developer may enable it again. */
  readonly mayEnable: boolean;
}

/** URL path of the page. */
export const settingsPath = ({ path }: Pick<OfApp, 'path'>): string => `${path}/settings`;

export const showSettings: AnswerApp<SettingsPage> = async (_ctx, app) => settingsOf(app, UNPOSTED);

/** Saves the form. */
export const saveSettings: AnswerApp<SettingsPage> = async (ctx, app) => {
  const posted = await readForm(ctx);
  const form = readAppForm(posted);
  return saveApp(app, {
    posted,
    changes: changesOf(form, app),
    page: settingsPath(app),
    showAgain: async (stored, refused) => settingsOf(stored, refused, form),
  });
};

/** Saves the logo that a form was posted with. */
export const saveLogo: AnswerApp<SettingsPage> = async (ctx, app) =>
  setLogo(app, await readFormFile(ctx, 'logo'));

/** Removes the logo of an app. */
export const removeLogo: AnswerApp<SettingsPage> = async (_ctx, app) => setLogo(app, undefined);

async function setLogo(app: OfApp, picture: Uint8Array | undefined): ReturnType<typeof saveLogo> {
  const { client, developer } = app;
  try {
    await developer.setLogo(client.id, picture);
  } catch (error) {
    return settingsOf(app, refusedForm(error));
  }
  return afterwards(settingsPath(app), 'saved');
}

async function settingsOf(
  app: OfApp,
  shown: ShownForm,
  form: AppForm = formOf(app.client, app.developer.furtherFields),
): Promise<SettingsPage> {
  const { client, developer } = app;
  return {
    kind: 'settings',
    ...shown,
    ...app,
    form,
    mayEnable: client.disabled && (await developer.canEnable(client.id)),
  };
}

function changesOf(
  form: AppForm,
  { client, developer }: OfApp,
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

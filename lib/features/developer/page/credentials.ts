import { randomUUID } from 'node:crypto';
import { now } from '../../../contracts/clock.ts';
import { DAY } from '../../../contracts/duration.ts';
import { fieldError } from '../../../contracts/field-errors.ts';
import type { Client, ClientKeys, ClientSecret, PageRedirect } from '../../../contracts/index.ts';
import { ClientInvalidError, GatehouseError } from '../../../errors.ts';
import { readForm, readOnce } from '../../../http/form.ts';
import { redirectTo } from '../../../login/answer-page.ts';
import type { Developer } from '../types.ts';
import { afterwards, refusedForm, saveApp, UNPOSTED } from './request.ts';
import type { AnswerApp, ConfirmPage, OfApp, ShownForm } from './request.ts';

/** The secrets of an app, without their values, with the form for a new one. */
export interface SecretsPage extends OfApp, ShownForm {
  readonly kind: 'secrets';
  readonly secrets: readonly ClientSecret[];
  /** `expires`: in days, one of {@link LIFETIMES}. */
  readonly form: { readonly label: string; readonly expires: string };
  /** A random string, by which the form adds one secret only, however often it is posted. */
  readonly once: string;
}

/** A new secret, which no other page shows. */
export interface NewSecretPage extends OfApp {
  readonly kind: 'new secret';
  readonly status: 200;
  readonly secret: string;
}

/** The lifetimes to choose from, in days; `''` for no expiry. */
export const LIFETIMES = ['', '30', '90', '180', '365'] as const;

export const showSecrets: AnswerApp<SecretsPage> = async (_ctx, app) =>
  secretsOf(app, { ...UNPOSTED, form: { label: '', expires: '' }, once: randomUUID() });

/** Adds a secret. The same form sent again, by a second click or a reload, adds no second secret. */
export const addSecret: AnswerApp<SecretsPage | NewSecretPage> = async (ctx, app) => {
  const { client, developer, path } = app;
  const posted = await readForm(ctx);
  const label = (posted['label'] ?? '').trim();
  const expires = LIFETIMES.find((days) => days === (posted['expires'] ?? ''));
  const once = readOnce(posted);
  const back = `${path}/secrets`;
  // A public app has no secrets; the page of its secrets says so and has no form.
  if (!client.confidential) return redirectTo(back);
  try {
    if (expires === undefined) throw new ClientInvalidError([fieldError('expires', 'not_duration')]);
    const expiresAt = expires === '' ? undefined : now() + Number(expires) * DAY;
    const added = await developer.addSecret(client.id, { label, expiresAt }, once);
    if (!added) return afterwards(back, 'secretAddedBefore');
    return { kind: 'new secret', status: 200, ...app, secret: added.value };
  } catch (error) {
    return secretsOf(app, { ...refusedForm(error), form: { label, expires: expires ?? '' }, once });
  }
};

async function secretsOf(
  app: OfApp,
  shown: ShownForm & Pick<SecretsPage, 'form' | 'once'>,
): Promise<SecretsPage> {
  return { kind: 'secrets', ...app, ...shown, secrets: await app.developer.secrets(app.client.id) };
}

export async function askToDeleteSecret(app: OfApp, id: string): Promise<ConfirmPage> {
  const secret = (await app.developer.secrets(app.client.id)).find((one) => one.id === id);
  if (secret) return { kind: 'confirm', status: 200, ...app, change: 'delete secret', secret };
  throw new GatehouseError('ERR_CLIENT_NOT_FOUND', `There is no secret ${id}`, { status: 404 });
}

/** Deletes a secret, which is refused from then on. This succeeds also when the secret was deleted already. */
export async function deleteSecret({ client, developer, path }: OfApp, id: string): Promise<PageRedirect> {
  await developer.deleteSecret(client.id, id);
  return afterwards(`${path}/secrets`, 'secretDeleted');
}

/** The public keys of an app, with the form that replaces them. */
export interface KeysPage extends OfApp, ShownForm {
  readonly kind: 'keys';
  readonly form: KeyForm;
  /** Why the form was not given to the registry. */
  readonly mistake: 'both' | 'missing' | 'notJson' | undefined;
  /** Whether the app has keys and secrets. */
  readonly hasSecretsToo: boolean;
}

/** The fields of the form of an app's keys. */
export interface KeyForm {
  readonly jwks: string;
  readonly jwksUri: string;
}

/** Whether an app has a page of keys. It has one also for keys that were stored while the server accepted keys. */
export function hasKeysPage(
  { acceptsKeys }: Pick<Developer, 'acceptsKeys'>,
  { confidential, keys }: Client,
): boolean {
  // A public app does not authenticate.
  return confidential && (acceptsKeys || keys !== undefined);
}

export const showKeys: AnswerApp<KeysPage> = async (_ctx, app) =>
  hasKeysPage(app.developer, app.client)
    ? keysOf(app, { ...UNPOSTED, form: formOf(app.client), mistake: undefined })
    : redirectTo(app.path);

/** Replaces the keys by those of the form. */
export const saveKeys: AnswerApp<KeysPage> = async (ctx, app) => {
  const posted = await readForm(ctx);
  const form = { jwks: (posted['jwks'] ?? '').trim(), jwksUri: (posted['jwksUri'] ?? '').trim() };
  const read = readKeys(form);
  if (typeof read === 'string') return keysOf(app, { status: 422, problems: [], form, mistake: read });
  return saveApp(app, {
    posted,
    changes: { keys: read },
    page: `${app.path}/keys`,
    async showAgain(stored, refused) {
      // A private key is not sent back to the page.
      const isLeaked = refused.problems.some(({ code }) => code === 'key_private');
      return keysOf(stored, {
        ...refused,
        form: isLeaked ? { ...form, jwks: '' } : form,
        mistake: undefined,
      });
    },
  });
};

/** Removes the keys. */
export const removeKeys: AnswerApp<never> = async (_ctx, { client, developer, path }) => {
  await developer.update(client.id, { keys: undefined });
  return afterwards(path, 'keysRemoved');
};

async function keysOf(app: OfApp, shown: ShownForm & Pick<KeysPage, 'form' | 'mistake'>): Promise<KeysPage> {
  const { client, developer } = app;
  const secrets = client.keys ? await developer.secrets(client.id) : [];
  return { kind: 'keys', ...app, ...shown, hasSecretsToo: secrets.length > 0 };
}

function readKeys({ jwks, jwksUri }: KeyForm): ClientKeys | NonNullable<KeysPage['mistake']> {
  if (jwks !== '' && jwksUri !== '') return 'both';
  if (jwksUri !== '') return { jwksUri };
  if (jwks === '') return 'missing';
  try {
    const parsed: unknown = JSON.parse(jwks);
    const isKey = typeof parsed === 'object' && parsed !== null && 'kty' in parsed;
    // The registry checks it.
    return { jwks: isKey ? { keys: [parsed] } : parsed } as ClientKeys;
  } catch {
    return 'notJson';
  }
}

function formOf({ keys }: Client): KeyForm {
  if (!keys) return { jwks: '', jwksUri: '' };
  if ('jwksUri' in keys) return { jwks: '', jwksUri: keys.jwksUri };
  return { jwks: JSON.stringify(keys.jwks, undefined, 2), jwksUri: '' };
}

import { randomUUID } from 'node:crypto';

import { DAY } from '../../../contracts/duration.ts';
import { now } from '../../../contracts/clock.ts';
import type { ClientSecret } from '../../../contracts/index.ts';
import { GatehouseError } from '../../../errors.ts';
import { readForm, readOnce } from '../../../http/form.ts';
import { pathParameter, seeOther } from '../../../../interactions/navigation.ts';
import { askToConfirm } from '../../../../interactions/page-request.ts';
import { printable, sentence } from '../../../../interactions/sentence.ts';
import { formErrorOf } from './form.ts';
import type { FormError } from './form.ts';
import type { SecretRow } from './view-types.ts';
import { afterwards, frameOf, readDone } from './request.ts';
import type { AppRequest } from './request.ts';

/** The lifetimes to choose from, in days; `''`: no expiry. */
const LIFETIMES = ['', '30', '90', '180', '365'] as const;

/** Lists the secrets of an app, without their values, with the form for a new one. */
export async function showSecrets(request: AppRequest): Promise<void> {
  await show(request, { form: { label: '', expires: '' }, once: randomUUID() });
}

/**
 * Adds a secret. Only the response shows its value. The same form sent again, by a second click or a reload, adds no second
 * secret.
 */
export async function addSecret(request: AppRequest): Promise<void> {
  const { client, ctx, developer, path, text } = request;
  const posted = await readForm(ctx);
  const form = { label: (posted['label'] ?? '').trim(), expires: posted['expires'] ?? '' };
  const once = readOnce(posted);
  const back = `${path}/secrets`;
  // A public app has no secrets; the page of its secrets says so and has no form.
  if (!client.confidential) return seeOther(ctx, back);
  if (!LIFETIMES.some((days) => days === form.expires)) {
    const problems = [{ field: 'expires', message: text['secrets.expiresProblem'] }];
    return show(request, { form: { ...form, expires: '' }, once, status: 422, problems });
  }
  const expiresAt = form.expires === '' ? undefined : now() + Number(form.expires) * DAY;
  try {
    const added = await developer.addSecret(client.id, { label: form.label, expiresAt }, once);
    if (!added) return seeOther(ctx, afterwards(back, 'secretAddedBefore'));
    return request.show({
      view: 'apps/new-secret',
      heading: sentence(text['secrets.newHeading'], { client: client.name }),
      lead: sentence(text['apps.secretOnce']),
      above: { href: back, label: text['apps.tab.secrets'] },
      secret: added.value,
      back: { href: back, label: text['secrets.back'] },
      scripts: ['copy.js'],
    });
  } catch (error) {
    return show(request, { form, once, ...formErrorOf(error, request) });
  }
}

/** Asks for confirmation before a secret is deleted. */
export async function askToDeleteSecret(request: AppRequest): Promise<void> {
  const { client, path, text } = request;
  const { hint, id, label } = await findSecret(request);
  askToConfirm(request, {
    heading: sentence(text['secrets.deleteHeading'], { label: label || text['secrets.unnamed'] }),
    lead: sentence(text['secrets.deleteLead'], { client: client.name, hint }),
    action: `${path}/secrets/${encodeURIComponent(id)}/delete`,
    button: text['secrets.delete'],
    cancel: `${path}/secrets`,
  });
}

/** Deletes a secret, which is refused from then on. */
export async function deleteSecret({ client, ctx, developer, path }: AppRequest): Promise<void> {
  // It succeeds also when the secret was deleted already.
  await developer.deleteSecret(client.id, pathParameter(ctx, 'secret'));
  seeOther(ctx, afterwards(`${path}/secrets`, 'secretDeleted'));
}

async function findSecret({ client, ctx, developer }: AppRequest): Promise<ClientSecret> {
  const id = pathParameter(ctx, 'secret');
  const found = (await developer.secrets(client.id)).find((secret) => secret.id === id);
  if (found) return found;
  throw new GatehouseError('ERR_CLIENT_NOT_FOUND', `There is no secret ${id}`, { status: 404 });
}

async function show(
  request: AppRequest,
  page: { form: { label: string; expires: string }; once: string } & Partial<FormError>,
): Promise<void> {
  const { client, developer, path, text } = request;
  const secrets = await developer.secrets(client.id);
  request.show({
    view: 'apps/secrets',
    ...frameOf(request, 'secrets'),
    done: readDone(request),
    action: `${path}/secrets`,
    isConfidential: client.confidential,
    hasKeys: client.keys !== undefined,
    secrets: secrets.map((secret) => describe(secret, request)),
    lives: LIFETIMES.map((days) => ({
      value: days,
      label: days === '' ? text['secrets.forever'] : text[`secrets.days.${days}`],
    })),
    scripts: ['send-once.js'],
    ...page,
  });
}

function describe(
  { createdAt, expiresAt, hint, id, label, lastUsedAt }: ClientSecret,
  { clock, path }: AppRequest,
): SecretRow {
  return {
    label: printable(label),
    hint,
    created: clock.day(createdAt),
    expires: expiresAt === undefined ? undefined : clock.day(expiresAt),
    isExpired: expiresAt !== undefined && expiresAt <= now(),
    lastUsed: lastUsedAt === undefined ? undefined : clock.minute(lastUsedAt),
    delete: `${path}/secrets/${encodeURIComponent(id)}/delete`,
  };
}

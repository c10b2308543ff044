import type { Client, ClientKeys } from '../../../contracts/index.ts';
import { keyThumbprint } from '../../../contracts/key-thumbprint.ts';
import { ClientInvalidError } from '../../../errors.ts';
import { readForm } from '../../../http/form.ts';
import { seeOther } from '../../../../interactions/navigation.ts';
import type { FieldProblem } from '../../../../interactions/page.ts';
import { askToConfirm } from '../../../../interactions/page-request.ts';
import { printable, sentence } from '../../../../interactions/sentence.ts';
import type { AppTexts } from '../texts.ts';
import { versionOf } from './form.ts';
import type { FormError } from './form.ts';
import type { KeyForm, KeyRow } from './view-types.ts';
import { afterwards, frameOf, hasKeysPage, readDone, saveApp } from './request.ts';
import type { AppRequest } from './request.ts';

/** Lists the public keys of an app, with the form that replaces them. */
export async function showKeys(request: AppRequest): Promise<void> {
  const { client, ctx, developer, path } = request;
  // A public app does not authenticate.
  if (!hasKeysPage(developer, client)) return seeOther(ctx, path);
  return show(request, { form: formOf(client) });
}

/** Replaces the keys by those of the form. */
export async function saveKeys(request: AppRequest): Promise<void> {
  const { ctx, path, text } = request;
  const posted = await readForm(ctx);
  const form = { jwks: (posted['jwks'] ?? '').trim(), jwksUri: (posted['jwksUri'] ?? '').trim() };
  const read = readKeys(form, text);
  if ('problem' in read) return show(request, { form, status: 422, problems: [read.problem] });
  return saveApp(request, {
    posted,
    changes: { keys: read.keys },
    page: `${path}/keys`,
    showAgain: async (stored, wrong, error) =>
      show(stored, { form: isLeaked(error) ? { ...form, jwks: '' } : form, ...wrong }),
  });
}

/** Asks for confirmation before the keys are removed. */
export function askToRemoveKeys(request: AppRequest): void {
  const { client, path, text } = request;
  askToConfirm(request, {
    heading: sentence(text['keys.removeHeading'], { client: client.name }),
    lead: sentence(text['keys.removeLead']),
    action: `${path}/keys/remove`,
    button: text['keys.remove'],
    cancel: `${path}/keys`,
  });
}

/** Removes the keys. */
export async function removeKeys({ client, ctx, developer, path }: AppRequest): Promise<void> {
  await developer.update(client.id, { keys: undefined });
  seeOther(ctx, afterwards(path, 'keysRemoved'));
}

function readKeys(
  { jwks, jwksUri }: KeyForm,
  text: AppTexts,
): { readonly keys: ClientKeys } | { readonly problem: FieldProblem } {
  if (jwks !== '' && jwksUri !== '') return { problem: { field: 'jwksUri', message: text['keys.both'] } };
  if (jwksUri !== '') return { keys: { jwksUri } };
  if (jwks === '') return { problem: { field: 'jwks', message: text['keys.missing'] } };
  try {
    const parsed: unknown = JSON.parse(jwks);
    const isKey = typeof parsed === 'object' && parsed !== null && 'kty' in parsed;
    // The registry checks it.
    return { keys: { jwks: isKey ? { keys: [parsed] } : parsed } as ClientKeys };
  } catch {
    return { problem: { field: 'jwks', message: text['keys.notJson'] } };
  }
}

// A private key is not sent back to the page.
function isLeaked(error: unknown): boolean {
  return error instanceof ClientInvalidError && error.fields.some(({ code }) => code === 'key_private');
}

function formOf({ keys }: Client): KeyForm {
  if (!keys) return { jwks: '', jwksUri: '' };
  if ('jwksUri' in keys) return { jwks: '', jwksUri: keys.jwksUri };
  return { jwks: JSON.stringify(keys.jwks, undefined, 2), jwksUri: '' };
}

async function show(request: AppRequest, page: { form: KeyForm } & Partial<FormError>): Promise<void> {
  const { client, developer, path } = request;
  const { keys } = client;
  const secrets = keys ? await developer.secrets(client.id) : [];
  request.show({
    view: 'apps/keys',
    ...frameOf(request, 'keys'),
    done: readDone(request),
    action: `${path}/keys`,
    version: versionOf(client),
    isAccepted: developer.acceptsKeys,
    keys: keys && 'jwks' in keys ? keys.jwks.keys.map(describe) : [],
    jwksUri: keys && 'jwksUri' in keys ? keys.jwksUri : undefined,
    secrets: secrets.length > 0 ? `${path}/secrets` : undefined,
    remove: keys && `${path}/keys/remove`,
    ...page,
  });
}

function describe(key: Readonly<Record<string, unknown>>): KeyRow {
  const { alg, crv, kid } = key;
  return {
    kind: [crv ?? 'RSA', alg].filter((name) => typeof name === 'string').join(', '),
    id: typeof kid === 'string' ? printable(kid) : undefined,
    thumbprint: keyThumbprint(key),
  };
}

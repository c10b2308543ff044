import type { Client, ClientKeys } from '../../lib/contracts/index.ts';
import { keyThumbprint } from '../../lib/contracts/key-thumbprint.ts';
import { ClientInvalidError } from '../../lib/errors.ts';
import { readForm } from '../../lib/http/form.ts';
import { seeOther } from '../navigation.ts';
import type { Problem } from '../page.ts';
import { printable, sentence } from '../sentence.ts';
import { formErrorOf, versionCondition, versionOf } from './form.ts';
import type { KeyForm, KeyRow } from './views.ts';
import {
  afterwards,
  appPath,
  findApp,
  frameOf,
  hasKeysPage,
  readDone,
  showPage,
} from './developer-request.ts';
import type { DeveloperRequest } from './developer-request.ts';

/** Lists the public keys of an app, with the form that replaces them. */
export async function showKeys(request: DeveloperRequest): Promise<void> {
  const client = await findApp(request);
  // A public app does not authenticate.
  if (!hasKeysPage(request.developer, client)) return seeOther(request.ctx, appPath(request.home, client.id));
  return show(request, client, { form: formOf(client) });
}

/** Replaces the keys by those of the form. */
export async function saveKeys(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, pageContext } = request;
  const client = await findApp(request);
  const posted = await readForm(ctx);
  const form = { jwks: (posted['jwks'] ?? '').trim(), jwksUri: (posted['jwksUri'] ?? '').trim() };
  const read = readKeys(form, pageContext.text);
  if ('problem' in read) return show(request, client, { form, status: 422, problems: [read.problem] });
  try {
    await developer.update(client.id, { keys: read.keys }, versionCondition(posted));
  } catch (error) {
    const shown = isLeaked(error) ? { ...form, jwks: '' } : form;
    return show(request, await findApp(request), { form: shown, ...formErrorOf(error, pageContext.text) });
  }
  return seeOther(ctx, afterwards(appPath(home, client.id, 'keys'), 'saved'));
}

/** Asks for confirmation before the keys are removed. */
export async function askToRemoveKeys(request: DeveloperRequest): Promise<void> {
  const { home, pageContext } = request;
  const { text } = pageContext;
  const client = await findApp(request);
  const path = appPath(home, client.id, 'keys');
  showPage(request, {
    view: 'confirm',
    wide: false,
    heading: sentence(text['keys.removeHeading'], { client: client.name }),
    lead: sentence(text['keys.removeLead']),
    action: `${path}/remove`,
    button: text['keys.remove'],
    cancel: { href: path, label: text['page.cancel'] },
  });
}

/** Removes the keys. */
export async function removeKeys(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home } = request;
  const client = await findApp(request);
  await developer.update(client.id, { keys: undefined });
  seeOther(ctx, afterwards(appPath(home, client.id), 'keysRemoved'));
}

function readKeys(
  { jwks, jwksUri }: KeyForm,
  text: DeveloperRequest['pageContext']['text'],
): { readonly keys: ClientKeys } | { readonly problem: Problem } {
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

async function show(
  request: DeveloperRequest,
  client: Client,
  page: { form: KeyForm; status?: number; problems?: readonly Problem[] },
): Promise<void> {
  const { developer, home } = request;
  const { keys } = client;
  const secrets = keys ? await developer.secrets(client.id) : [];
  showPage(request, {
    view: 'apps/keys',
    ...frameOf(request, client, 'keys'),
    done: readDone(request),
    action: appPath(home, client.id, 'keys'),
    version: versionOf(client),
    isAccepted: developer.acceptsKeys,
    keys: keys && 'jwks' in keys ? keys.jwks.keys.map(describe) : [],
    jwksUri: keys && 'jwksUri' in keys ? keys.jwksUri : undefined,
    secrets: secrets.length > 0 ? appPath(home, client.id, 'secrets') : undefined,
    remove: keys && appPath(home, client.id, 'keys/remove'),
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

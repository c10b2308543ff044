import { printable, sentence } from '../../../../interactions/sentence.ts';
import { now } from '../../../contracts/clock.ts';
import type { ClientSecret } from '../../../contracts/index.ts';
import { keyThumbprint } from '../../../contracts/key-thumbprint.ts';
import type { KeysPage, NewSecretPage, SecretsPage } from '../page/credentials.ts';
import { versionOf } from '../page/request.ts';
import { LIFETIMES } from '../page/credentials.ts';
import { confirmationOf, frameOf, problemsOf } from './request.ts';
import type { Shown } from './request.ts';

/** Lists the secrets of an app, without their values, with the form for a new one. */
export function showSecrets(request: Shown<SecretsPage>): void {
  const { client, form, once, path, problems, secrets, show, status, text } = request;
  const isExpiryWrong = problems.some(({ field }) => field === 'expires');
  show({
    view: 'apps/secrets',
    ...frameOf(request, 'secrets'),
    status,
    problems: isExpiryWrong
      ? [{ field: 'expires', message: text['secrets.expiresProblem'] }]
      : problemsOf(request),
    done: confirmationOf(request),
    action: `${path}/secrets`,
    isConfidential: client.confidential,
    hasKeys: client.keys !== undefined,
    secrets: secrets.map((secret) => describeSecret(secret, request)),
    lives: LIFETIMES.map((days) => ({
      value: days,
      label: days === '' ? text['secrets.forever'] : text[`secrets.days.${days}`],
    })),
    form,
    once,
    scripts: ['send-once.js'],
  });
}

function describeSecret(
  { createdAt, expiresAt, hint, id, label, lastUsedAt }: ClientSecret,
  { clock, path }: Shown<SecretsPage>,
) {
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

/** Shows the value of a new secret, once. */
export function showNewSecret({ client, path, secret, show, text }: Shown<NewSecretPage>): void {
  const back = `${path}/secrets`;
  show({
    view: 'apps/new-secret',
    heading: sentence(text['secrets.newHeading'], { client: client.name }),
    lead: sentence(text['apps.secretOnce']),
    above: { href: back, label: text['apps.tab.secrets'] },
    secret,
    back: { href: back, label: text['secrets.back'] },
    scripts: ['copy.js'],
  });
}

/** Lists the public keys of an app, with the form that replaces them. */
export function showKeys(request: Shown<KeysPage>): void {
  const { client, developer, form, hasSecretsToo, mistake, path, show, status, text } = request;
  const { keys } = client;
  show({
    view: 'apps/keys',
    ...frameOf(request, 'keys'),
    status,
    problems: mistake
      ? [{ field: mistake === 'both' ? 'jwksUri' : 'jwks', message: text[`keys.${mistake}`] }]
      : problemsOf(request),
    done: confirmationOf(request),
    action: `${path}/keys`,
    version: versionOf(client),
    form,
    isAccepted: developer.acceptsKeys,
    keys: keys && 'jwks' in keys ? keys.jwks.keys.map(describeKey) : [],
    jwksUri: keys && 'jwksUri' in keys ? keys.jwksUri : undefined,
    secrets: hasSecretsToo ? `${path}/secrets` : undefined,
    remove: keys && `${path}/keys/remove`,
  });
}

function describeKey(key: Readonly<Record<string, unknown>>) {
  const { alg, crv, kid } = key;
  return {
    kind: [crv ?? 'RSA', alg].filter((name) => typeof name === 'string').join(', '),
    id: typeof kid === 'string' ? printable(kid) : undefined,
    thumbprint: keyThumbprint(key),
  };
}

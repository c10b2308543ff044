import { logoUrl } from '../../../../interactions/about-app.ts';
import { isRegistered } from '../../../contracts/trust.ts';
import { versionOf } from '../page/request.ts';
import { settingsPath } from '../page/settings.ts';
import type { SettingsPage } from '../page/settings.ts';
import { confirmationOf, frameOf, problemsOf } from './request.ts';
import type { Shown } from './request.ts';

/** Shows the settings of an app, and what stops it. */
export function showSettings(request: Shown<SettingsPage>): void {
  const { client, developer, form, mayEnable, path, server, show, status, text } = request;
  // Only administrators may change a first-party app, so other developers get no form.
  const source = server.clientSources.all.get(client.source);
  const isFixed = source?.decides !== undefined || (client.firstParty && !developer.administrator);
  const isManual = isRegistered(client);
  const isSeen = isManual && client.grantType !== 'client_credentials';
  const ofFeatures = text as Readonly<Record<string, string>>;
  show({
    view: 'apps/settings',
    ...frameOf(request, 'settings'),
    status,
    problems: problemsOf(request),
    done: confirmationOf(request),
    form,
    action: settingsPath(request),
    version: versionOf(client),
    mayBeFirstParty: developer.administrator && isManual,
    mayVerify: developer.administrator && isSeen,
    isManual,
    logoForm: isSeen ? { action: `${path}/logo`, logo: logoUrl(client, server) } : undefined,
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
    // Where there is no form of them.
    redirectUris: isFixed ? client.redirectUris : [],
    enable: mayEnable ? `${path}/enable` : undefined,
    revoke: `${path}/revoke`,
    disable: `${path}/disable`,
    // A disabled app would come back with its next request.
    delete: source?.isLive && client.disabled ? undefined : `${path}/delete`,
    returns: text[`source.${client.source}.returns`],
  });
}

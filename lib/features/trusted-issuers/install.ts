import { consentScopes } from '../../clients/consents.ts';
import type { AllowedApp } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { administerTrustedIssuers, openStore } from './administer.ts';
import { checkIssuers } from './check.ts';
import { assertionGrant } from './grant.ts';
import type { WithTrustedIssuers } from './index.ts';
import { createIssuerKeys } from './keys.ts';
import type { Issuers } from './options.ts';
import type { FoundGrant } from './types.ts';

const ID_JAG_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

export async function installTrustedIssuers(
  core: Core,
  issuers: Issuers,
): Promise<Installed<WithTrustedIssuers>> {
  checkAtServer(core, issuers);
  const keys = createIssuerKeys(core, issuers);
  const store = await openStore(core.storage);
  const hasIdJag = [...issuers.values()].some(({ profile }) => profile === 'id-jag');
  return {
    api: await administerTrustedIssuers(core),
    grantTypes: (parts) => [assertionGrant(core, { ...parts, findKeys: keys.find, issuers, store })],
    check: () => checkIssuers(core, issuers, keys),
    metadata: () => (hasIdJag ? { authorization_grant_profiles_supported: [ID_JAG_PROFILE] } : {}),
    async allowed(userId) {
      const found = await store.list(userId);
      return found.filter(({ issuer, state }) => state === 'live' && issuers.has(issuer)).map(toAllowedApp);
    },
  };
}

/** @throws ConfigError for what only a server knows */
function checkAtServer({ options: { issuer, resources } }: Core, given: Issuers): void {
  if (given.size === 0)
    throw new ConfigError(
      'trustedIssuers()',
      "name an issuer, such as { 'https://idp.example': { profile } }",
    );
  if (given.has(issuer)) throw new ConfigError('trustedIssuers()', 'leave out the issuer of this server');
  const apis = [...resources.values()];
  for (const settings of given.values()) {
    const names = settings.profile === 'id-jag' ? settings.scopes : [];
    const unknown = names.find((name) => !apis.some(({ scopes }) => scopes.has(name)));
    if (unknown !== undefined)
      throw new ConfigError(
        `trustedIssuers()['${settings.issuer}'].scopes`,
        `no API of this server has the scope ${unknown}`,
      );
  }
}

function toAllowedApp({ access, clientId, createdAt, issuer, lastUsedAt }: FoundGrant): AllowedApp {
  const scopes = Object.entries(access).flatMap(([resource, limit]) =>
    consentScopes({ limit, resource: resource === '' ? undefined : resource }),
  );
  return { by: new URL(issuer).host, clientId, createdAt, lastUsedAt, scopes };
}

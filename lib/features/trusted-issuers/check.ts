import { warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import type { Core } from '../core.ts';
import type { IssuerKeys } from './keys.ts';
import type { IdJagSettings, Issuers, WorkloadSettings } from './options.ts';

/** Finds issuers whose keys cannot be fetched, and rules by which no workload gets a token. */
export async function* checkIssuers(
  { clients }: Pick<Core, 'clients'>,
  issuers: Issuers,
  keys: Pick<IssuerKeys, 'fetch'>,
): Findings {
  for (const settings of issuers.values()) {
    yield* checkKeys(settings, keys);
    if (settings.profile === 'workload') yield* checkRules(settings, clients);
  }
}

async function* checkKeys(
  settings: IdJagSettings | WorkloadSettings,
  { fetch }: Pick<IssuerKeys, 'fetch'>,
): Findings {
  try {
    await fetch(settings);
  } catch (error) {
    yield warning(
      'trusted_issuer_unreachable',
      `The public keys of ${settings.issuer}, an issuer of trustedIssuers(), cannot be fetched: ${(error as Error).message}.`,
      `Let this server reach the metadata of the issuer and its jwks_uri, or give the keys: trustedIssuers()['${settings.issuer}'].keys.`,
    );
  }
}

async function* checkRules(
  { issuer, rules }: WorkloadSettings,
  { directory }: Pick<Core['clients'], 'directory'>,
): Findings {
  for (const [index, rule] of rules.entries()) {
    const client = (await directory.find(rule.client))?.client;
    const problem = !client
      ? 'does not exist'
      : client.disabled
        ? 'is disabled'
        : client.grantType !== 'client_credentials'
          ? 'acts for users'
          : undefined;
    if (problem === undefined) continue;
    yield warning(
      'workload_rule_without_client',
      `No workload gets a token by trustedIssuers()['${issuer}'].rules[${index}]: its client ${rule.client} ${problem}.`,
      'Name an enabled client with the grant type client_credentials, or remove the rule.',
    );
  }
}

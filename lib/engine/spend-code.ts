import type { Configuration } from 'oidc-provider';

import type { CredentialStore } from '../contracts.ts';
import { redeem } from './redemption.ts';
import type { RedemptionSettings } from './redemption.ts';
import { stateOf } from './request-state.ts';

type IssueRefreshToken = NonNullable<Configuration['issueRefreshToken']>;

/**
 * Spends a code that is exchanged for no refresh token, as a host's `configure` may have it. Any other is spent when its
 * refresh token is saved (see adapter/credentials.ts). Both come before the engine says that it has issued a token.
 */
export function spendLoneCodes(
  configuration: Configuration,
  credentials: CredentialStore,
  settings: RedemptionSettings,
): Configuration {
  const { issueRefreshToken = onOfflineAccess } = configuration;
  return {
    ...configuration,
    async issueRefreshToken(ctx, client, source) {
      const isIssued = await issueRefreshToken(ctx, client, source);
      if (!isIssued) await redeem(credentials, stateOf(ctx), settings);
      return isIssued;
    },
  };
}

// What the engine does by itself.
const onOfflineAccess: IssueRefreshToken = async (_ctx, client, source) =>
  client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access');

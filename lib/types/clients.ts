/** The parts of a client, and what its registration, change, search and import take. */
export type { ImportOutcome, ImportedClient } from '../clients/import.ts';
export type {
  ClientChanges,
  ClientEndpoint,
  ClientKeys,
  ClientLifetimes,
  ClientMetadata,
  ClientMetadataDocument,
  ClientQuery,
  ClientRegistration,
  ClientSecret,
  NewSecret,
  PassportAccessToken,
  PassportConnection,
  PassportRefreshToken,
  PassportSelector,
  PassportUse,
  RegisteredAuthMethod,
} from '../contracts/index.ts';

/** The parts of a client, and what its creation, change, search and import take. */
export type { ImportOutcome, ImportedClient } from '../clients/import.ts';
export type {
  ClientChanges,
  ClientEndpoint,
  ClientKeys,
  ClientLifetimes,
  ClientQuery,
  ClientSecret,
  NewSecret,
} from '../contracts/index.ts';

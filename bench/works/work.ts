import type { OAuthClient } from '../client/oauth-client.ts';
import type { ContestantName } from '../contestants.ts';

/** Something that servers are measured at. */
export interface Work {
  readonly name: string;
  readonly about: string;
  /** Who takes part. The ratios are against the first. */
  readonly contestants: readonly ContestantName[];
  /** How many ask at once. */
  readonly connections: number;
  /** Gets ready, once for each server: for so many that ask at once, with the least of everything when it is `smoke`. */
  readonly prepare: (client: OAuthClient, connections: number, smoke: boolean) => Promise<Operations>;
}

export interface Operations {
  /** One operation, by one of those who ask at once. Throws when the answer is not right. */
  readonly run: (connection: number) => Promise<void>;
  /** Makes what so many operations use up. Its time is not measured. */
  readonly supply?: (count: number) => Promise<void>;
}

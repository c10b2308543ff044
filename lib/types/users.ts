/** What the server has of one user: connections, personal access tokens, and all that is stored. */
export type { PersonalTokenOptions } from '../personal-tokens/personal-tokens.ts';
export type {
  NewPersonalToken,
  PersonalToken,
  PersonalTokens,
  UserData,
  UserExport,
  UserGrantTarget,
  UserGrants,
  UserGrantsRegistry,
} from '../contracts/index.ts';

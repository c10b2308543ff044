/** What the server has of one user: connections, personal access tokens, and all that is stored. */
export type {
  UserData,
  UserExport,
  UserGrantTarget,
  UserGrants,
  UserGrantsRegistry,
} from '../contracts/index.ts';

/** What the server has of one user: assignments, connections, and all that is stored. */
export type {
  Assignments,
  UserData,
  UserExport,
  UserGrantTarget,
  UserGrants,
  UserGrantsRegistry,
} from '../contracts/index.ts';

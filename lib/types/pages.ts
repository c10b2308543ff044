/** What pages of your own are given. */
export type {
  ActivityKind,
  ActivityQuery,
  ActivityRecord,
  AppUsage,
  AuthorizedApp,
  AuthorizedApps,
  AuthorizedResource,
  AuthorizedScope,
  Connection,
  Developer,
  Interaction,
  InteractionScope,
  NamedResource,
  PageError,
  PostedResponse,
} from '../contracts/index.ts';

/** What pages of your own are given. */
export type {
  AuthorizedApp,
  AuthorizedApps,
  AuthorizedResource,
  AuthorizedScope,
  Connection,
  Interaction,
  InteractionScope,
  NamedResource,
  PageError,
  PostedResponse,
} from '../contracts/index.ts';

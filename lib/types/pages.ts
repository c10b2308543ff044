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
  DeviceFlow,
  DeviceRequest,
  Interaction,
  InteractionScope,
  NamedResource,
  PageError,
} from '../contracts/index.ts';

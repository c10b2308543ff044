import type { FeatureEvents, FurtherField } from '../contracts/index.ts';
import type { StoredTable } from '../database/table.ts';
import type { EventRule } from '../record/event-rules.ts';
import { AGENT_TABLES } from './agents/tables.ts';
import { DEVICE_EVENTS } from './devices/events.ts';
import { DEVICE_TABLES } from './devices/tables.ts';
import { OPENID_CLIENT_FIELDS } from './openid/client-fields.ts';
import { OPENID_EVENTS } from './openid/events.ts';
import { OPENID_TABLES } from './openid/tables.ts';
import { PASSPORT_EVENTS } from './laravel-passport/events.ts';
import { PASSPORT_TABLES } from './laravel-passport/tables.ts';
import { PERSONAL_TOKEN_EVENTS } from './personal-tokens/events.ts';
import { PERSONAL_TOKEN_TABLES } from './personal-tokens/tables.ts';
import { PUSHED_REQUEST_EVENTS } from './pushed-requests/events.ts';
import { PUSHED_REQUEST_TABLES } from './pushed-requests/tables.ts';
import { TRUSTED_ISSUER_EVENTS } from './trusted-issuers/events.ts';
import { TRUSTED_ISSUER_TABLES } from './trusted-issuers/tables.ts';

/**
 * The tables of all features of this package. Every storage has all of them, so that a feature can be switched on and off without a
 * migration, and a command without a server deletes, exports and erases what features have stored.
 */
export const FEATURE_TABLES: readonly StoredTable[] = [
  ...AGENT_TABLES,
  ...DEVICE_TABLES,
  ...OPENID_TABLES,
  ...PASSPORT_TABLES,
  ...PERSONAL_TOKEN_TABLES,
  ...PUSHED_REQUEST_TABLES,
  ...TRUSTED_ISSUER_TABLES,
];

/** The rules of the events of all features of this package. Their events stay stored when a feature is switched off again. */
export const FEATURE_EVENTS: Readonly<Record<FeatureEvents[keyof FeatureEvents]['type'], EventRule>> = {
  ...DEVICE_EVENTS,
  ...OPENID_EVENTS,
  ...PASSPORT_EVENTS,
  ...PERSONAL_TOKEN_EVENTS,
  ...PUSHED_REQUEST_EVENTS,
  ...TRUSTED_ISSUER_EVENTS,
};

/** The fields of clients of all features of this package. They are stored even while a feature is off. */
export const FEATURE_CLIENT_FIELDS: readonly FurtherField[] = [...OPENID_CLIENT_FIELDS];

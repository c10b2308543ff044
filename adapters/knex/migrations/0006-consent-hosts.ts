import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/** Where people agreed to be sent to. Of consents that were given before nobody knows, so those people are asked once more. */
export const consentHosts: Migration = {
  name: '0006_consent_hosts',
  up: (dialect) => addColumn(dialect, 'gatehouse_consents', { column: 'hosts', type: 'text' }),
};

import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/** The redirect hosts of a consent. They are unknown for earlier consents, so those users are asked once more. */
export const consentHosts: Migration = {
  name: '0006_consent_hosts',
  up: (dialect) => [addColumn(dialect, 'gatehouse_consents', { column: 'hosts', type: 'text' })],
};

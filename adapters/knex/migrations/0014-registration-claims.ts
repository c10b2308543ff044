import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * What decides which registration gives way when all places are taken: the network that it was made from, and who has consented,
 * which is nobody (null), one user alone, or several (an empty text).
 */
export const registrationClaims: Migration = {
  name: '0014_registration_claims',
  up: (dialect) => [
    addColumn(dialect, 'gatehouse_registrations', { column: 'network', type: 'id' }),
    addColumn(dialect, 'gatehouse_registrations', { column: 'user_id', type: 'id' }),
    `update gatehouse_registrations set user_id = (
       select case when count(*) = 1 then min(k.user_id) when count(*) > 1 then '' end
       from gatehouse_consents k where k.client_id = gatehouse_registrations.client_id
     ) where user_id is null`,
  ],
};

import { withoutFurther } from '../clients/further-fields.ts';
import { clientFieldsOf } from '../features/known.ts';
import { randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { Client, ClientGrantType } from '../contracts/index.ts';

/** Completes a client, for tests to which only some of its members matter. It is not registered. */
export function completeClient(given: Partial<Client>, grantType: ClientGrantType): Client {
  const createdAt = now();
  return {
    id: randomUUID(),
    name: 'Test client',
    clientUri: undefined,
    logoHash: undefined,
    verified: false,
    source: 'manual',
    grantType,
    redirectUris: [],
    ...withoutFurther(clientFieldsOf(undefined).all),
    confidential: true,
    keys: undefined,
    native: false,
    firstParty: false,
    scopes: undefined,
    roles: [],
    permissions: [],
    ownerId: undefined,
    disabled: false,
    disabledBy: undefined,
    lifetimes: {},
    createdAt,
    updatedAt: createdAt,
    ...given,
  };
}

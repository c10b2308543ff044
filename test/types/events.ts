import type { AuditRecord, AuthServer } from 'koa-gatehouse';

import { same } from './same.ts';

declare const auth: AuthServer;
const { events } = auth;

// A listener of each type of event gets the members of its type, also where several types have the same members.
events.on('token_issued', (event) => event.grantType satisfies string);
events.on('refresh_token_reused', (event) => event.generations satisfies number);
events.on('token_refused', (event) => event.reason satisfies string);
events.on('authorization_refused', (event) => event.reason satisfies string);
events.on('login', (event) => event.userId satisfies string);
events.on('logout', (event) => event.userId satisfies string);
events.on('logout_undelivered', (event) => event.error satisfies string);
events.on('login_failed', (event) => event.clientId satisfies string | undefined);
events.on('login_throttled', (event) => event.address satisfies string | undefined);
events.on('consent_given', (event) => event.scopes satisfies readonly string[]);
events.on('consent_denied', (event) => event.scopes satisfies readonly string[]);
events.on('consent_withdrawn', (event) => event.scopes satisfies readonly string[]);
events.on('device_authorized', (event) => event.deviceAddress satisfies string | undefined);
events.on('device_denied', (event) => event.deviceAddress satisfies string | undefined);
events.on('user_code_refused', (event) => event.userId satisfies string);
events.on('user_code_throttled', (event) => event.userId satisfies string);
events.on('client_created', (event) => event.source satisfies string | undefined);
events.on('client_disabled', (event) => event.name satisfies string);
events.on('client_enabled', (event) => event.name satisfies string);
events.on('client_deleted', (event) => event.name satisfies string);
events.on('client_withdrawn', (event) => event.name satisfies string);
events.on('client_updated', (event) => event.fields satisfies readonly string[]);
events.on('secret_added', (event) => event.hint satisfies string);
events.on('secret_deleted', (event) => event.hint satisfies string);
events.on('tokens_revoked', (event) => event.target satisfies string);
events.on('personal_token_created', (event) => event.expiresAt satisfies number);
events.on('personal_token_used', (event) => event.tokenId satisfies string);
events.on('personal_token_revoked', (event) => event.tokenId satisfies string);
events.on('user_erased', (event) => event.at satisfies number);
events.on('assignment_changed', (event) => event.roles satisfies readonly string[]);
events.on('tool_called', (event) => event.tool satisfies string);
events.on('key_rotated', (event) => event.keyId satisfies string);
events.on('key_revoked', (event) => event.keyId satisfies string);

// The record of every type, of one that is not above too, has that type alone.
same<{ [T in AuditRecord['type']]: AuditRecord<T>['type'] }, { [T in AuditRecord['type']]: T }>();

events.on('login', (event) => {
  same<typeof event.type, 'login'>();
  event satisfies AuditRecord;
  // @ts-expect-error a login has no secret
  void event.secretId;
});
// The types of a listener for some types are told apart by `type`.
declare const some: 'login' | 'tool_called';
events.on(some, (event) => {
  if (event.type === 'login') event.userId satisfies string;
  else event.tool satisfies string;
});
events.on('*', (event) => {
  same<typeof event, AuditRecord>();
});
// @ts-expect-error there is no such event
events.on('logins', () => {});

CREATE TABLE gatehouse_migrations (
  name varchar(255) not null,
  applied_at integer not null,
  primary key (name)
);
insert into gatehouse_migrations (name, applied_at) values ('0001_first_tables', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0002_audit_assignments_idempotency', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0003_attempts', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0004_disabled_by', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0005_revocation_sequence', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0006_consent_hosts', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0007_client_lifetimes', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0008_row_locks', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0009_client_registration', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0010_assertions', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0012_dynamic_registration', 1795549473);
insert into gatehouse_migrations (name, applied_at) values ('0013_device_codes', 1795549473);
CREATE TABLE gatehouse_clients (
  id varchar(255) not null,
  name varchar(255) not null,
  sort_name varchar(255) not null,
  grant_type varchar(255) not null,
  redirect_uris text not null,
  confidential integer not null,
  native integer not null,
  first_party integer not null,
  scopes text,
  roles text not null,
  permissions text not null,
  owner_id varchar(255),
  disabled integer not null,
  created_at integer not null,
  updated_at integer not null, disabled_by varchar(255), lifetimes text, lock_count integer, registration varchar(255), public_keys text,
  primary key (id)
);
insert into gatehouse_clients (id, name, sort_name, grant_type, redirect_uris, confidential, native, first_party, scopes, roles, permissions, owner_id, disabled, created_at, updated_at, disabled_by, lifetimes, lock_count, registration, public_keys) values ('e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', 'Reports', 'reports', 'authorization_code', '["https://reports.example/callback"]', 1, 0, 0, '["schools:read"]', '[]', '[]', null, 0, 1795549473, 1795549473, null, '{}', null, 'manual', null);
insert into gatehouse_clients (id, name, sort_name, grant_type, redirect_uris, confidential, native, first_party, scopes, roles, permissions, owner_id, disabled, created_at, updated_at, disabled_by, lifetimes, lock_count, registration, public_keys) values ('1529837c-3e40-45cd-b0b5-10da935eadff', 'Mobile', 'mobile', 'authorization_code', '["https://mobile.example/callback"]', 0, 0, 0, null, '[]', '[]', null, 0, 1795549473, 1795549473, null, '{}', null, 'manual', null);
insert into gatehouse_clients (id, name, sort_name, grant_type, redirect_uris, confidential, native, first_party, scopes, roles, permissions, owner_id, disabled, created_at, updated_at, disabled_by, lifetimes, lock_count, registration, public_keys) values ('820c229f-6360-4a86-9c37-b973ce442b30', 'Nightly', 'nightly', 'client_credentials', '[]', 1, 0, 0, null, '[]', '["view_schools"]', null, 0, 1795549473, 1795549473, null, '{}', null, 'manual', null);
insert into gatehouse_clients (id, name, sort_name, grant_type, redirect_uris, confidential, native, first_party, scopes, roles, permissions, owner_id, disabled, created_at, updated_at, disabled_by, lifetimes, lock_count, registration, public_keys) values ('647bb21a-ce8b-4df7-9212-bf35c0326e94', 'Nightly', 'nightly', 'client_credentials', '[]', 1, 0, 0, null, '[]', '["view_schools"]', null, 1, 1795549473, 1795549474, null, '{}', null, 'manual', null);
CREATE TABLE gatehouse_client_secrets (
  client_id varchar(255) not null,
  id varchar(255) not null,
  hash varchar(255) not null,
  label text not null,
  hint varchar(255) not null,
  created_at integer not null,
  expires_at integer,
  last_used_at integer,
  primary key (client_id, id)
);
insert into gatehouse_client_secrets (client_id, id, hash, label, hint, created_at, expires_at, last_used_at) values ('e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '7b624e91-3065-4255-9215-8bcac8b2a42e', 'FpzfXfg1hVGv3jZxd7fLI2QNVaGUpKntrCOTuIvtIvo', 'first', 'ixGM', 1795549473, null, 1795549474);
insert into gatehouse_client_secrets (client_id, id, hash, label, hint, created_at, expires_at, last_used_at) values ('820c229f-6360-4a86-9c37-b973ce442b30', '1dbd782f-cf89-44cf-904f-82a9357da750', 'paafk5elcw4YMkxF3TMpJzLgbeyy54dHDO6tKdvKpKk', 'first', 'x83Q', 1795549473, null, 1795549474);
insert into gatehouse_client_secrets (client_id, id, hash, label, hint, created_at, expires_at, last_used_at) values ('647bb21a-ce8b-4df7-9212-bf35c0326e94', 'ad4546e8-6233-46ba-911f-397471e040d3', '_RMS_9MCy5GgySkbn-OxX10kb4kbhQTqx4-E7IsHlYI', 'first', 'wOCo', 1795549473, null, 1795549473);
CREATE TABLE gatehouse_consents (
  user_id varchar(255) not null,
  client_id varchar(255) not null,
  scopes text not null,
  created_at integer not null,
  updated_at integer not null, last_used_at integer, hosts text, lock_count integer,
  primary key (user_id, client_id)
);
insert into gatehouse_consents (user_id, client_id, scopes, created_at, updated_at, last_used_at, hosts, lock_count) values ('1', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '["schools:read"]', 1795549474, 1795549474, 1795549474, '{"https://reports.example":["schools:read"]}', null);
CREATE TABLE gatehouse_grants (
  id varchar(255) not null,
  user_id varchar(255) not null,
  client_id varchar(255) not null,
  scopes text not null,
  created_at integer not null,
  expires_at integer not null,
  revoked_at integer,
  needed_until integer not null, sequence integer,
  primary key (id)
);
insert into gatehouse_grants (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, needed_until, sequence) values ('19c7deb1-617e-4ad5-a166-76d6371f6bc3', '1', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '["schools:read"]', 1795549474, 1795549534, null, 1827086400, 1);
insert into gatehouse_grants (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, needed_until, sequence) values ('68a9ec7c-555d-4126-827b-d24c1bfafadb', '1', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '["schools:read"]', 1795549474, 1795549534, 1795549474, 1827086400, 1);
insert into gatehouse_grants (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, needed_until, sequence) values ('9c638d44-4e1a-4b1e-8b9f-58a1f8b9caa9', '1', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '["schools:read"]', 1795549474, 1795549534, null, 1795549534, 1);
CREATE TABLE gatehouse_credentials (
  id varchar(255) not null,
  kind varchar(255) not null,
  grant_id varchar(255) not null,
  payload text not null,
  expires_at integer not null,
  consumed_at integer,
  sealed_successor text,
  primary key (id, kind)
);
insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor) values ('kAHdKSkcL3zhLpI2BqfBrSC44I7THZOxYNDQ1_a9zbs', 'code', '19c7deb1-617e-4ad5-a166-76d6371f6bc3', '{"iat":1795549474,"exp":1795549534,"accountId":"1","authTime":1795549473,"grantId":"19c7deb1-617e-4ad5-a166-76d6371f6bc3","redirectUri":"https://reports.example/callback","resource":"https://platform.example","scope":"schools:read","sessionUid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","kind":"AuthorizationCode","clientId":"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb"}', 1795549534, 1795549474059, null);
insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor) values ('_n8s9yFuB6nCRu9Jy32vHcwvzwZ3EIt_X4kfIOryPHY', 'refresh_token', '19c7deb1-617e-4ad5-a166-76d6371f6bc3', '{"iat":1795549474,"exp":1827085474,"accountId":"1","authTime":1795549473,"grantId":"19c7deb1-617e-4ad5-a166-76d6371f6bc3","gty":"authorization_code","resource":"https://platform.example","rotations":0,"scope":"schools:read","sessionUid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","kind":"RefreshToken","clientId":"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb","iiat":1795549474}', 1827085474, 1795549474142, 'mmvshg5yaHhfyOBSWTijPbUrZqds4G2VSyt4S--3gaxXSO6qqFt4LpJZ8HuEpP-Lik4mKeGlQuW5M4dQ4qrsiOeKNiG4qbY');
insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor) values ('o2KNBiadjMhNJtQurJHfgX_rPUGHZirXvWz86jh20Hc', 'refresh_token', '19c7deb1-617e-4ad5-a166-76d6371f6bc3', '{"iat":1795549474,"exp":1827085474,"accountId":"1","authTime":1795549473,"iiat":1795549474,"grantId":"19c7deb1-617e-4ad5-a166-76d6371f6bc3","gty":"authorization_code refresh_token","resource":"https://platform.example","rotations":1,"scope":"schools:read","sessionUid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","kind":"RefreshToken","clientId":"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb"}', 1827085474, null, null);
insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor) values ('7wlXfW8L3TU09itW8fx3G0AXaR33bxXSCHMETMBII_A', 'code', '68a9ec7c-555d-4126-827b-d24c1bfafadb', '{"iat":1795549474,"exp":1795549534,"accountId":"1","authTime":1795549473,"grantId":"68a9ec7c-555d-4126-827b-d24c1bfafadb","redirectUri":"https://reports.example/callback","resource":"https://platform.example","scope":"schools:read","sessionUid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","kind":"AuthorizationCode","clientId":"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb"}', 1795549534, 1795549474443, null);
insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor) values ('v_GGQ7vgAaEAEja71a2l29JeeCIu4jumstgdTa7EE7Y', 'refresh_token', '68a9ec7c-555d-4126-827b-d24c1bfafadb', '{"iat":1795549474,"exp":1827085474,"accountId":"1","authTime":1795549473,"grantId":"68a9ec7c-555d-4126-827b-d24c1bfafadb","gty":"authorization_code","resource":"https://platform.example","rotations":0,"scope":"schools:read","sessionUid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","kind":"RefreshToken","clientId":"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb","iiat":1795549474}', 1827085474, null, null);
insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor) values ('Pl1upGRWXR3L9UpjRJPPbE6AgUha5UZeBmdFFr6kKp4', 'code', '9c638d44-4e1a-4b1e-8b9f-58a1f8b9caa9', '{"iat":1795549474,"exp":1795549534,"accountId":"1","authTime":1795549473,"grantId":"9c638d44-4e1a-4b1e-8b9f-58a1f8b9caa9","redirectUri":"https://reports.example/callback","resource":"https://platform.example","scope":"schools:read","sessionUid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","kind":"AuthorizationCode","clientId":"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb"}', 1795549534, null, null);
CREATE TABLE gatehouse_revocations (
  kind varchar(255) not null,
  value varchar(255) not null,
  revoked_at integer not null,
  expires_at integer not null, sequence integer,
  primary key (kind, value)
);
insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence) values ('sequence', '', 0, 9007199254740991, 1);
CREATE TABLE gatehouse_sessions (
  id varchar(255) not null,
  uid varchar(255) not null,
  user_id varchar(255),
  payload text not null,
  expires_at integer not null, sequence integer,
  primary key (id)
);
insert into gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence) values ('LhlBohtkjf1pvpbBz4F-tstPSJJTWq1h6-9wH6PkZJU', 'Qjm2dLlMyCb-5y_UikAvxJIQcJr7SIa8q_F5IegWmWM', '1', '{"iat":1795549473,"exp":1796759074,"uid":"U1RvyX5ncyjXjhE_xFWWg8awo5pLM8jOmb_gXiPuNPI","accountId":"1","loginTs":1795549473,"kind":"Session","authorizations":{"e7df30ee-0ce0-4b35-849c-4af54c7d7ffb":{"sid":"bQHJNrD21NKec6FIyb1UBN5P4a051VRc1uF7fkQvmJk","grantId":"19c7deb1-617e-4ad5-a166-76d6371f6bc3","persistsLogout":true}}}', 1796759074, 1);
CREATE TABLE gatehouse_interactions (
  id varchar(255) not null,
  payload text not null,
  expires_at integer not null,
  primary key (id)
);
CREATE TABLE gatehouse_keys (
  id varchar(255) not null,
  purpose varchar(255) not null,
  generation integer not null,
  material text not null,
  created_at integer not null,
  active_at integer not null,
  retires_at integer,
  primary key (id)
);
insert into gatehouse_keys (id, purpose, generation, material, created_at, active_at, retires_at) values ('ZucOsZFZUjzpJ9AZ4-2DVw', 'cookie', 1, 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiWWcwYzlCR21pODhCMzFRbyJ9..RgVUk1x2ioTkOiE6.pPyo9jNVJmpHicenXDLlk8HFicpFhZ3u1cktv3tTUmhEQwpZsQNESR1xfnlA9i8eq0-3GL80wOm-6d5F6oDkCDm_MMex0YCy13KgGKHZzf9SEneIUMd5Hz7spydloA.4C0BiJxb18oPnyEGthSebA', 1795549473, 0, null);
insert into gatehouse_keys (id, purpose, generation, material, created_at, active_at, retires_at) values ('kZfvno-sSIYVTcQ5PGriYJ85qmB7yuDcdikL10yng3o', 'token', 1, 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiWWcwYzlCR21pODhCMzFRbyJ9..MPcCG-AWXqEkK86p.R9XEUDg53QHz-KtbP73X_y7zIoE68VK70CO6dpnBCeAXgXQmCbszPMjU10zDYCkIq8Snaw7SmMk6ELnAdXcGoa9yR76FXu-Rw7rDc6R5VEz47yoCMLFpiuvap1owjy4Mqz0p-zetKKy5V_yb2KF3CnGGrAvm7RoXTTFsuwZLN8HH-McBbzfJhDkOL4tWo9Tzxlq75DOVbJwP9jktPKaWVc9gxwgs38kDTU9xP_Iuhb__fGCWXDLbw3z_ygrvvzLKDiZinoG_-XyxTGrLUcnl3AOyS3WNm34BwGZuE0gNuskOpWbVWQR6xp9s-2-Q-EIKqcGU0QCO5xENNlUz8So.bVvNXfooYtWZCjkLX7rqsQ', 1795549473, 0, null);
CREATE TABLE gatehouse_audit (
  id varchar(255) not null,
  at integer not null,
  type varchar(255) not null,
  client_id varchar(255),
  user_id varchar(255),
  payload text not null,
  expires_at integer not null,
  primary key (id)
);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2b-7000-aba8-17aa844a5278', 1795549473579, 'client_created', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', null, '{"name":"Reports"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2b-7001-a8ba-925303e0e385', 1795549473579, 'secret_added', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', null, '{"secretId":"7b624e91-3065-4255-9215-8bcac8b2a42e","label":"first","hint":"ixGM"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2b-7002-95bf-5f81b1572265', 1795549473579, 'client_created', '1529837c-3e40-45cd-b0b5-10da935eadff', null, '{"name":"Mobile"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2c-7000-ad6a-a2a1bbcabc54', 1795549473580, 'client_created', '820c229f-6360-4a86-9c37-b973ce442b30', null, '{"name":"Nightly"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2c-7001-93a6-b64294ab4d2b', 1795549473580, 'secret_added', '820c229f-6360-4a86-9c37-b973ce442b30', null, '{"secretId":"1dbd782f-cf89-44cf-904f-82a9357da750","label":"first","hint":"x83Q"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2c-7002-ba19-98206a009bdf', 1795549473580, 'client_created', '647bb21a-ce8b-4df7-9212-bf35c0326e94', null, '{"name":"Nightly"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab2c-7003-8e8f-647d89312b60', 1795549473580, 'secret_added', '647bb21a-ce8b-4df7-9212-bf35c0326e94', null, '{"secretId":"ad4546e8-6233-46ba-911f-397471e040d3","label":"first","hint":"wOCo"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab64-7000-8c1a-4c6b3295a16d', 1795549473636, 'token_issued', '647bb21a-ce8b-4df7-9212-bf35c0326e94', null, '{"grantType":"client_credentials","address":"127.0.0.1","requestId":"94b927be-b54c-4c11-8168-30c72b681282"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ab88-7000-9f9f-091ffabcac70', 1795549473672, 'client_disabled', '647bb21a-ce8b-4df7-9212-bf35c0326e94', null, '{"name":"Nightly"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-acae-7000-befc-2eba751762a6', 1795549473966, 'login', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '1', '{"address":"127.0.0.1","requestId":"ea5620be-bf13-4edb-be3b-0f867421b962"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-acdd-7000-b730-c188615f9ab0', 1795549474013, 'consent_given', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '1', '{"scopes":["schools:read"],"address":"127.0.0.1","requestId":"3281f3bc-a011-4e79-8ffe-6e5ecdcb58ed"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ad17-7000-bf9f-833880fc8450', 1795549474071, 'token_issued', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '1', '{"grantId":"19c7deb1-617e-4ad5-a166-76d6371f6bc3","grantType":"authorization_code","address":"127.0.0.1","requestId":"b0ecd95d-a109-4527-bbad-fc1ba39fa363"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ad78-7000-8982-1a5993b94d1d', 1795549474168, 'token_issued', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '1', '{"grantId":"19c7deb1-617e-4ad5-a166-76d6371f6bc3","grantType":"refresh_token","address":"127.0.0.1","requestId":"84625546-9505-4a7b-affb-23a644e3bb68"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-ae8c-7000-b037-cd199c68e6a1', 1795549474444, 'token_issued', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '1', '{"grantId":"68a9ec7c-555d-4126-827b-d24c1bfafadb","grantType":"authorization_code","address":"127.0.0.1","requestId":"b46c4860-259a-4353-b7e0-f2f48cc5920a"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-aec5-7000-a3d1-860e3a41636f', 1795549474501, 'tokens_revoked', 'e7df30ee-0ce0-4b35-849c-4af54c7d7ffb', '1', '{"target":"grant","grantId":"68a9ec7c-555d-4126-827b-d24c1bfafadb"}', 1803325474);
insert into gatehouse_audit (id, at, type, client_id, user_id, payload, expires_at) values ('01a20f16-af5e-7000-ab3c-d2d3bc48f0dd', 1795549474654, 'token_issued', '820c229f-6360-4a86-9c37-b973ce442b30', null, '{"grantType":"client_credentials","address":"127.0.0.1","requestId":"627b1a95-0de5-49a2-8ceb-b9f5d101a83d"}', 1803325474);
CREATE TABLE gatehouse_assignments (
  user_id varchar(255) not null,
  roles text not null,
  permissions text not null,
  primary key (user_id)
);
CREATE TABLE gatehouse_idempotency (
  id varchar(255) not null,
  fingerprint varchar(255) not null,
  attempt varchar(255) not null,
  leased_until integer not null,
  expires_at integer not null,
  status integer,
  body text,
  primary key (id)
);
CREATE TABLE gatehouse_attempts (
  id varchar(255) not null,
  attempts integer not null,
  expires_at integer not null,
  primary key (id)
);
insert into gatehouse_attempts (id, attempts, expires_at) values ('rH-qtraJPcsAQ-DGKQy5esT9lP6RtyWTNACtbRVsG3g', 0, 1795550373);
insert into gatehouse_attempts (id, attempts, expires_at) values ('7inBpa5GuALtWxLU_UJGTuirG8X3cpMNW-umKYpSYxg', 0, 1795550373);
insert into gatehouse_attempts (id, attempts, expires_at) values ('ldzabWXmho_F7V1O63ZhYAVUlZtljZ9PwXOa21gx1bM', 0, 1795550373);
insert into gatehouse_attempts (id, attempts, expires_at) values ('S8Py3dNbuQgwGLKeRfMDC9T2qozkYulBao0q0ww2Scs', 0, 1795550373);
CREATE TABLE gatehouse_assertions (
  id varchar(255) not null,
  expires_at integer not null,
  primary key (id)
);
CREATE TABLE gatehouse_registrations (
  client_id varchar(255) not null,
  token_hash varchar(255) not null,
  auth_method varchar(255) not null,
  removable_at integer not null,
  unused_after integer not null,
  lock_count integer not null,
  primary key (client_id)
);
CREATE TABLE gatehouse_device_codes (
  id varchar(255) not null,
  user_code varchar(255) not null,
  client_id varchar(255) not null,
  payload text not null,
  created_at integer not null,
  expires_at integer not null,
  kept_until integer not null,
  sequence integer not null,
  answer varchar(255),
  polled_at integer,
  primary key (id)
);
CREATE INDEX gatehouse_clients_sort_name on gatehouse_clients (sort_name);
CREATE INDEX gatehouse_clients_owner_id on gatehouse_clients (owner_id);
CREATE INDEX gatehouse_consents_client_id on gatehouse_consents (client_id);
CREATE INDEX gatehouse_grants_user_id_revoked_at_client_id on gatehouse_grants (user_id, revoked_at, client_id);
CREATE INDEX gatehouse_grants_client_id_revoked_at on gatehouse_grants (client_id, revoked_at);
CREATE INDEX gatehouse_grants_needed_until on gatehouse_grants (needed_until);
CREATE INDEX gatehouse_credentials_expires_at on gatehouse_credentials (expires_at);
CREATE INDEX gatehouse_revocations_revoked_at on gatehouse_revocations (revoked_at);
CREATE INDEX gatehouse_revocations_expires_at on gatehouse_revocations (expires_at);
CREATE INDEX gatehouse_sessions_uid on gatehouse_sessions (uid);
CREATE INDEX gatehouse_sessions_user_id on gatehouse_sessions (user_id);
CREATE INDEX gatehouse_sessions_expires_at on gatehouse_sessions (expires_at);
CREATE INDEX gatehouse_interactions_expires_at on gatehouse_interactions (expires_at);
CREATE UNIQUE INDEX gatehouse_keys_purpose_generation on gatehouse_keys (purpose, generation);
CREATE INDEX gatehouse_audit_at_id on gatehouse_audit (at, id);
CREATE INDEX gatehouse_audit_type_at_id on gatehouse_audit (type, at, id);
CREATE INDEX gatehouse_audit_client_id_at_id on gatehouse_audit (client_id, at, id);
CREATE INDEX gatehouse_audit_client_id_type_at_id on gatehouse_audit (client_id, type, at, id);
CREATE INDEX gatehouse_audit_user_id_at_id on gatehouse_audit (user_id, at, id);
CREATE INDEX gatehouse_audit_expires_at on gatehouse_audit (expires_at);
CREATE INDEX gatehouse_idempotency_expires_at on gatehouse_idempotency (expires_at);
CREATE INDEX gatehouse_attempts_expires_at on gatehouse_attempts (expires_at);
CREATE INDEX gatehouse_assertions_expires_at on gatehouse_assertions (expires_at);
CREATE INDEX gatehouse_registrations_removable_at on gatehouse_registrations (removable_at);
CREATE UNIQUE INDEX gatehouse_device_codes_user_code on gatehouse_device_codes (user_code);
CREATE INDEX gatehouse_device_codes_kept_until on gatehouse_device_codes (kept_until);

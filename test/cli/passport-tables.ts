/**
 * `oauth_clients` as created by Passport's own migrations, in the SQL of Laravel's schema builder:
 * `2016_06_01_000004_create_oauth_clients_table` of the branches 12.x (the same since 9.x) and 13.x.
 */
export const CREATE_TABLE: Readonly<
  Record<'12.x' | '13.x', Readonly<Record<'better-sqlite3' | 'pg' | 'mysql2', string>>>
> = {
  '12.x': {
    'better-sqlite3': `create table "oauth_clients" ("id" integer primary key autoincrement not null, "user_id" integer,
      "name" varchar not null, "secret" varchar, "provider" varchar, "redirect" text not null,
      "personal_access_client" tinyint(1) not null, "password_client" tinyint(1) not null,
      "revoked" tinyint(1) not null, "created_at" datetime, "updated_at" datetime)`,
    pg: `create table "oauth_clients" ("id" bigserial not null primary key, "user_id" bigint null,
      "name" varchar(255) not null, "secret" varchar(100) null, "provider" varchar(255) null, "redirect" text not null,
      "personal_access_client" boolean not null, "password_client" boolean not null, "revoked" boolean not null,
      "created_at" timestamp(0) without time zone null, "updated_at" timestamp(0) without time zone null)`,
    mysql2: `create table \`oauth_clients\` (\`id\` bigint unsigned not null auto_increment primary key,
      \`user_id\` bigint unsigned null, \`name\` varchar(255) not null, \`secret\` varchar(100) null,
      \`provider\` varchar(255) null, \`redirect\` text not null, \`personal_access_client\` tinyint(1) not null,
      \`password_client\` tinyint(1) not null, \`revoked\` tinyint(1) not null, \`created_at\` timestamp null,
      \`updated_at\` timestamp null) default character set utf8mb4 collate 'utf8mb4_unicode_ci'`,
  },
  '13.x': {
    'better-sqlite3': `create table "oauth_clients" ("id" varchar not null, "owner_type" varchar, "owner_id" integer,
      "name" varchar not null, "secret" varchar, "provider" varchar, "redirect_uris" text not null,
      "grant_types" text not null, "revoked" tinyint(1) not null, "created_at" datetime, "updated_at" datetime,
      primary key ("id"))`,
    pg: `create table "oauth_clients" ("id" uuid not null, "owner_type" varchar(255) null, "owner_id" bigint null,
      "name" varchar(255) not null, "secret" varchar(255) null, "provider" varchar(255) null,
      "redirect_uris" text not null, "grant_types" text not null, "revoked" boolean not null,
      "created_at" timestamp(0) without time zone null, "updated_at" timestamp(0) without time zone null,
      primary key ("id"))`,
    mysql2: `create table \`oauth_clients\` (\`id\` char(36) not null, \`owner_type\` varchar(255) null,
      \`owner_id\` bigint unsigned null, \`name\` varchar(255) not null, \`secret\` varchar(255) null,
      \`provider\` varchar(255) null, \`redirect_uris\` text not null, \`grant_types\` text not null,
      \`revoked\` tinyint(1) not null, \`created_at\` timestamp null, \`updated_at\` timestamp null,
      primary key (\`id\`)) default character set utf8mb4 collate 'utf8mb4_unicode_ci'`,
  },
};

/** A row of version 12, as created by `passport:client`. */
export function row12(fields: Record<string, unknown>): Record<string, unknown> {
  return {
    user_id: null,
    secret: null,
    provider: null,
    redirect: '',
    personal_access_client: false,
    password_client: false,
    revoked: false,
    created_at: '2021-03-04 05:06:07',
    updated_at: '2021-03-04 05:06:07',
    ...fields,
  };
}

/** A row of version 13; lists are JSON. */
export function row13({
  redirect_uris: uris = [],
  grant_types: grants,
  ...fields
}: Record<string, unknown>): Record<string, unknown> {
  return {
    owner_type: null,
    owner_id: null,
    secret: null,
    provider: null,
    redirect_uris: JSON.stringify(uris),
    grant_types: JSON.stringify(grants),
    revoked: false,
    created_at: '2025-03-04 05:06:07',
    updated_at: '2025-03-04 05:06:07',
    ...fields,
  };
}

import '#runtime';

export { knexStorage } from './knex-storage.ts';
export type { KnexStorageOptions } from './knex-storage.ts';
export type { PassportClient } from './passport-row.ts';
export { passportSource } from './passport-source.ts';
export type { PassportSource } from './passport-source.ts';

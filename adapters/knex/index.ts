import '#runtime';

export { knexStorage } from './knex-storage.ts';
export type { KnexStorageOptions } from './knex-storage.ts';

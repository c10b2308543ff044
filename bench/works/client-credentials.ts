import type { Work } from './work.ts';

export const clientCredentials: Work = {
  name: 'client-credentials',
  about: 'a token for a client itself, at 32 connections',
  contestants: [
    'plain',
    'plain-knex',
    'gatehouse',
    'gatehouse-json',
    'gatehouse-postgresql',
    'node-oauth2-server',
    'better-auth',
    'floor',
  ],
  connections: 32,
  prepare: async (client) => ({
    async run() {
      await client.clientCredentials();
    },
  }),
};

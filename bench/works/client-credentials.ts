import type { Work } from './work.ts';

export const clientCredentials: Work = {
  name: 'client-credentials',
  about: 'a token for a client itself, at 32 connections',
  contestants: ['plain', 'gatehouse', 'gatehouse-json', 'gatehouse-postgresql', 'gatehouse-workers', 'floor'],
  connections: 32,
  prepare: async (client) => ({
    async run() {
      await client.clientCredentials();
    },
  }),
};

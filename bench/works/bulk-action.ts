import type { Work } from './work.ts';

const ITEMS = 100;

const BODY = JSON.stringify({
  items: Array.from({ length: ITEMS }, (_, index) => ({
    id: `school-${index}`,
    input: { name: `School ${index}` },
  })),
});

export const bulkAction: Work = {
  name: 'bulk-action',
  about: `an action that does nothing, on ${ITEMS} objects in one request`,
  contestants: ['floor', 'gatehouse', 'gatehouse-postgresql'],
  connections: 8,
  async prepare(client) {
    const token = await client.clientCredentials();
    return {
      async run() {
        const answer = await client.post('/api/v1/actions/school/rename-school-action/bulk', token, BODY);
        if (!answer.includes(`"succeeded":${ITEMS},"failed":0`)) throw new Error(answer.slice(0, 500));
      },
    };
  },
};

// A client in a process of its own: sends the token requests that it is told to, all at once.
import type { Answer, Burst } from './clients.ts';

process.on('message', (burst: Burst) => void send(burst));

async function send({ url, fields, times }: Burst): Promise<void> {
  const body = new URLSearchParams(fields);
  const answers = await Promise.all(
    Array.from({ length: times }, async (): Promise<Answer> => {
      const response = await fetch(url, { method: 'POST', body });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    }),
  );
  process.send?.(answers);
}

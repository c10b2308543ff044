/**
 * Prepares users for operations of a work, in a queue for each connection, so that they take turns.
 * @param users - of each connection
 * @param prepare - gets the name of the user, which some servers know before: they are numbered from 0
 */
export async function prepareUsers<Prepared>(
  connections: number,
  users: number,
  prepare: (person: string) => Promise<Prepared>,
): Promise<Prepared[][]> {
  const queues = Array.from({ length: connections }, (): Prepared[] => []);
  for (let number = 0; number < connections * users; number += 1)
    queues[number % connections]!.push(await prepare(`person-${number}`));
  return queues;
}

import type { Finding } from '../contracts.ts';
import type { CheckSubject } from './check.ts';

// In milliseconds. A code lives a minute, and a key is published a minute before it signs.
const NOTICEABLE = 2000;
const HARMFUL = 30_000;

/**
 * Whether this machine's clock agrees with the database's, which stands for the other nodes': tokens that are issued on
 * a node whose clock is ahead are not valid yet on the others.
 */
export async function checkClock({ storage }: CheckSubject): Promise<readonly Finding[]> {
  const asked = Date.now();
  const { clock } = await storage.diagnose();
  const answered = Date.now();
  if (clock === undefined) return [];
  // The database read its clock somewhere between the two: what is outside of them is surely wrong.
  const difference = clock > answered ? clock - answered : Math.min(clock - asked, 0);
  if (Math.abs(difference) <= NOTICEABLE) return [];
  const seconds = Math.round(Math.abs(difference) / 1000);
  return [
    {
      code: 'clock_differs',
      severity: Math.abs(difference) > HARMFUL ? 'error' : 'warning',
      message: `The clock of the database is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} this machine's.`,
      remedy: 'Let a time service such as chrony or systemd-timesyncd set the clocks of all machines.',
    },
  ];
}

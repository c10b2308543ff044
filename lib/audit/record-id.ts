import { randomUUID } from 'node:crypto';

// Twelve bits of a UUID count the records of one millisecond.
const MOST_IN_A_MILLISECOND = 0xfff;

/**
 * Makes ids that sort by time, and those of one millisecond in the order in which they were made: UUIDs of version 7
 * with a counter (RFC 9562 section 6.2, method 1).
 */
export function createRecordId(): (at: number) => string {
  let last = 0;
  let count = 0;
  return (at) => {
    count = at === last ? Math.min(count + 1, MOST_IN_A_MILLISECOND) : 0;
    last = at;
    const time = at.toString(16).padStart(12, '0');
    const counter = count.toString(16).padStart(3, '0');
    // The rest, its variant included, is as random as that of any UUID.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${randomUUID().slice(19)}`;
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** Where the median lies. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** How sure an interval is. */
const CONFIDENCE = 0.95;

/**
 * The interval between two of the values in which the median of all possible ones lies with a probability of 95 %, however they are
 * distributed: each value is above that median with the probability of a coin (sign test). `undefined` below six values.
 */
export function intervalOfMedian(values: readonly number[]): Interval | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  // The probability that exactly `below` values are below the median, beginning with none.
  let probability = 0.5 ** count;
  let outside = 0;
  let below = 0;
  while (2 * (outside + probability) <= 1 - CONFIDENCE) {
    outside += probability;
    probability *= (count - below) / (below + 1);
    below += 1;
  }
  return below === 0 ? undefined : { low: sorted[below - 1]!, high: sorted[count - below]! };
}

/** The growth from one value to the next: the slope of a linear regression. */
export function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  let products = 0;
  let squares = 0;
  for (const [index, value] of values.entries()) {
    products += (index - middle) * value;
    squares += (index - middle) ** 2;
  }
  return products / squares;
}

/** The ratio of the highest to the lowest value. */
export function spread(values: readonly number[]): number {
  return Math.max(...values) / Math.min(...values);
}

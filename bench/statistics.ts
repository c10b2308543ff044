export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
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

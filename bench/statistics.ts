export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** How far values are apart: the highest over the lowest. */
export function spread(values: readonly number[]): number {
  return Math.max(...values) / Math.min(...values);
}

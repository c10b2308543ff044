/** So many at once, and so many more per second (a token bucket). */
export interface Allowance {
  /** Takes one. `false`: there is none left. */
  take(at: number): boolean;
}

export function createAllowance({ burst, perSecond }: { burst: number; perSecond: number }): Allowance {
  let left = burst;
  let countedAt = 0;
  return {
    take(at) {
      const earned = (Math.max(at - countedAt, 0) / 1000) * perSecond;
      left = Math.min(left + earned, burst);
      countedAt = at;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}

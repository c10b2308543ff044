const BAR = 24;
// In milliseconds.
const REDRAW = 80;

/** A line on the terminal that tells how far a long work is. Nothing where stderr is no terminal. */
export interface Progress {
  readonly show: (done: number) => void;
  /** Takes the line away. */
  readonly end: () => void;
}

/** @param total - leave it out when nobody knows it: then the line counts */
export function startProgress(label: string, total?: number): Progress {
  const { stderr } = process;
  if (!stderr.isTTY) return { show() {}, end() {} };
  const startedAt = performance.now();
  let drawnAt = -Infinity;
  return {
    show(done) {
      const at = performance.now();
      if (at - drawnAt < REDRAW) return;
      drawnAt = at;
      const state = total === undefined ? counted(done, at - startedAt) : portion(done, total);
      stderr.write(`\r${label}  ${state}\x1b[K`);
    },
    end() {
      if (drawnAt > 0) stderr.write('\r\x1b[K');
    },
  };
}

function counted(done: number, milliseconds: number): string {
  const perSecond = Math.round((done * 1000) / Math.max(milliseconds, 1));
  return `${inGroups(done)}  ${inGroups(perSecond)}/s`;
}

function portion(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const filled = Math.round(share * BAR);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${'━'.repeat(filled)}${'─'.repeat(BAR - filled)} ${percent}  ${inGroups(done)} of ${inGroups(total)}`;
}

/** Such as 1,234,567. */
export function inGroups(count: number): string {
  return count.toLocaleString('en');
}

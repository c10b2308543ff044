import { OTHERS } from './comparison.ts';
import type { Comparison, Other, Ratio } from './comparison.ts';

// In pixels.
const WIDTH = 760;
const LEFT = 250;
const RIGHT = 110;
const LINE = 18;
const HEADING = 30;

/**
 * The picture of docs/review/performance.md in SVG: a bar for each ratio of CPU time, with the interval in which it lies.
 */
export function toPicture(comparisons: readonly Comparison[]): string {
  const groups = comparisons.map(({ what, ratios }) => ({
    what,
    bars: [...ratios].flatMap(([other, ratio]) => (ratio ? [{ other, ratio }] : [])),
  }));
  const longest = Math.max(1.25, ...groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio.high)));
  const scale = (WIDTH - LEFT - RIGHT) / longest;
  let y = HEADING;
  const parts = groups
    .filter(({ bars }) => bars.length > 0)
    .flatMap(({ what, bars }) => {
      y += HEADING;
      const heading = `<text class="what" x="8" y="${y - 8}">${escape(what)}</text>`;
      const drawn = bars.map((bar) => {
        y += LINE;
        return barOf(bar, y - LINE, scale);
      });
      return [heading, drawn.join('\n')];
    });
  const one = (LEFT + scale).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 12}" role="img">
<title>CPU time of an operation of this package, of that of others</title>
<style>
svg { font: 12px system-ui, sans-serif; background: #fff }
text { fill: #222 } .what { font-weight: 600 } .other, .ratio { font-size: 11px }
.bar { fill: #3b6fb6 } .more { fill: #c2702d } .interval { stroke: #222; stroke-width: 1.5 } .one { stroke: #888; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
svg { background: #111 } text { fill: #ddd } .bar { fill: #7aa7e0 } .more { fill: #e0a070 } .interval { stroke: #fff }
}
</style>
<text x="${one}" y="18" text-anchor="middle" class="other">as much CPU time</text>
<line class="one" x1="${one}" y1="24" x2="${one}" y2="${y + 6}"/>
${parts.join('\n')}
</svg>
`;
}

function barOf(
  { other, ratio: { low, median, high } }: { readonly other: Other; readonly ratio: NonNullable<Ratio> },
  top: number,
  scale: number,
): string {
  const at = (ratio: number): string => (LEFT + ratio * scale).toFixed(1);
  const middle = top + LINE / 2;
  const name = OTHERS[other].replaceAll('`', '');
  return [
    `<text class="other" x="${LEFT - 8}" y="${middle + 4}" text-anchor="end">${escape(name)}</text>`,
    `<rect class="${median > 1 ? 'bar more' : 'bar'}" x="${LEFT}" y="${top + 3}" width="${(median * scale).toFixed(1)}" height="${LINE - 6}"/>`,
    `<line class="interval" x1="${at(low)}" y1="${middle}" x2="${at(high)}" y2="${middle}"/>`,
    `<text class="ratio" x="${(Number(at(high)) + 6).toFixed(1)}" y="${middle + 4}">${median.toFixed(2)}</text>`,
  ].join('');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

import type { GrantOrigin } from '../lib/contracts/index.ts';
import { printable } from './sentence.ts';
import type { Texts } from './text.ts';

/** Where a request came from, for a person to recognize it by, such as "Firefox, Windows, 203.0.113.7". */
export function placeOf(origin: GrantOrigin | undefined, text: Pick<Texts, 'grants.unknownPlace'>): string {
  const place = [programOf(origin?.userAgent ?? ''), origin?.address ?? ''].filter((known) => known !== '');
  return place.length > 0 ? printable(place.join(', ')) : text['grants.unknownPlace'];
}

/** The browser and the system of a `User-Agent`, such as "Firefox, Windows"; the name that any other program gives itself; or nothing. */
function programOf(userAgent: string): string {
  if (!userAgent.startsWith('Mozilla/')) return userAgent;
  return [BROWSERS, SYSTEMS]
    .flatMap((names) => names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? [])
    .join(', ');
}

type Names = readonly (readonly [pattern: RegExp, name: string])[];

// In this order, because each names those below it too.
const BROWSERS: Names = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

// In this order, because browsers on Android name Linux too, and those on an iPhone macOS.
const SYSTEMS: Names = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

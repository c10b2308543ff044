/** The form of a name by which clients are sorted. Cut, because lower case can be longer than the name. */
export function toSortName(name: string): string {
  return name.toLowerCase().slice(0, 255);
}

// In UTF-16 units: of two texts that begin with as many the same ones, the rest decides nothing.
const LONGEST = 100;

// A stranger chooses the name of an app that registers itself, and a single character can stand for many.
const MOST = 30;

/** The form in which a search is compared with {@link toBeginnings}. */
export function toSearched(text: string): string {
  return lowerCase(text.normalize('NFKC').trim());
}

/**
 * What the searches that find a name begin with: the name from its beginning, and from the beginning of each of its words, in
 * lower case. Of a word, so that an index finds it, which cannot find parts of words.
 */
export function toBeginnings(name: string): readonly string[] {
  const text = name.normalize('NFKC');
  const starts = new Set([0, ...text.matchAll(WORD).map(({ index }) => index)]);
  return [...new Set([...starts].slice(0, MOST).map((index) => lowerCase(text.slice(index))))];
}

// Also at a capital letter inside of a word, and at each character of the scripts that have no spaces.
const WORD =
  /(?<![\p{L}\p{M}\p{N}])[\p{L}\p{N}]|(?<=\p{Ll})\p{Lu}|[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/gu;

function lowerCase(text: string): string {
  return text.toLowerCase().slice(0, LONGEST).toWellFormed();
}

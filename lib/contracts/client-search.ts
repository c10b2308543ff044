/** The form of a name by which clients are sorted. It is cut, because the name can be longer in lower case. */
export function toSortName(name: string): string {
  return name.toLowerCase().slice(0, 255);
}

// In UTF-16 units. Text beyond this length is not compared.
const LONGEST = 100;

// A stranger chooses the name of an app that registers itself, and a single character can stand for many.
const MOST = 30;

/** The form in which a search is compared with {@link toBeginnings}. */
export function toSearched(text: string): string {
  return lowerCase(text.normalize('NFKC').trim());
}

/**
 * The texts by which searches find a name: the name from its beginning, and from the beginning of each of its words, in lower case. An
 * index finds a text by its beginning, and not by a part of a word.
 */
export function toBeginnings(name: string): readonly string[] {
  const text = name.normalize('NFKC');
  const starts = new Set([0, ...text.matchAll(WORD).map(({ index }) => index)]);
  return [...new Set([...starts].slice(0, MOST).map((index) => lowerCase(text.slice(index))))];
}

// A word also begins at a capital letter inside of a word, and at each character of the scripts that have no spaces.
const WORD =
  /(?<![\p{L}\p{M}\p{N}])[\p{L}\p{N}]|(?<=\p{Ll})\p{Lu}|[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/gu;

function lowerCase(text: string): string {
  return text.toLowerCase().slice(0, LONGEST).toWellFormed();
}

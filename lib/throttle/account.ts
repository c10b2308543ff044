/**
 * The one way to write a login name, for counting. Databases differ in what they take for the same name, so whatever any
 * of them does is the same here: case, accents, width, blanks, and characters that cannot be seen. Two names that are
 * taken for one share their attempts, which is less harm than a name that has as many attempts as it has spellings.
 */
export function accountOf(login: string): string {
  // Upper case first: it tells ß and ss from each other no more than the collations do.
  return login
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\p{Z}\s]/gu, '')
    .toUpperCase()
    .toLowerCase();
}

import type { User } from '../lib/contracts/index.ts';
import { printable } from './sentence.ts';

/** What a page calls a person: the email, which tells two accounts of one name apart; else the name, else the id. */
export function displayName({ email, name, id }: User): string {
  return printable(email || name || id);
}

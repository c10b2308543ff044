/** A link, or a button that looks like one. */
export interface Link {
  readonly href: string;
  readonly label: string;
}

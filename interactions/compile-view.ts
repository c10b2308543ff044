import ejs from 'ejs';

/** Gives the HTML of some data. */
export type Render = (data: object) => string;

/** Compiles EJS. Its data is `page`, and `<%=` escapes. */
export function compileView(source: string, filename: string): Render {
  // Without `with`, a view sees only `page` and its own variables: no name in the data can shadow anything.
  return ejs.compile(source, { _with: false, localsName: 'page', filename });
}

/** Escapes text for HTML, also between the quotes of an attribute. For views that are functions. */
export function escapeHtml(text: string): string {
  return ejs.escapeXML(text);
}

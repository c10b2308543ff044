/**
 * A node of the tree of a PDF. Its fields depend on the service and on the PDF; these are the fields of OpenDataLoader PDF, which defines
 * the format.
 */
export interface PdfNode {
  /** `paragraph`, `heading`, `table`, `list`, `image`, ... */
  readonly type?: string;
  readonly id?: number;
  readonly level?: string;
  /** The text of the node itself. */
  readonly content?: string;
  /** The first page is 1. */
  readonly 'page number'?: number;
  /** In points (1/72 inch) from the page's lower left corner. */
  readonly 'bounding box'?: readonly [left: number, bottom: number, right: number, top: number];
  readonly 'heading level'?: number;
  readonly kids?: readonly PdfNode[];
  /** Of a table. */
  readonly rows?: readonly PdfNode[];
  /** Of a table's row. */
  readonly cells?: readonly PdfNode[];
  /** Of a list. */
  readonly 'list items'?: readonly PdfNode[];
  /** Of a table of contents. */
  readonly 'toc items'?: readonly PdfNode[];
  readonly [field: string]: unknown;
}

/** The root of the tree. */
export interface PdfDocument extends PdfNode {
  readonly 'file name'?: string;
  readonly 'number of pages'?: number;
  readonly author?: string | null;
  readonly title?: string | null;
}

const CHILDREN = ['kids', 'rows', 'cells', 'list items', 'toc items'] as const;

/**
 * Iterates over a tree in reading order, the root first. Children are in `kids`, in the rows and cells of tables, and in the
 * items of lists.
 */
export function* walkPdf(root: PdfNode): Generator<PdfNode, void, undefined> {
  // A list of the remaining nodes instead of recursion: the PDF determines the depth of its tree, and a few thousand levels
  // would overflow the call stack.
  const ahead: PdfNode[] = [root];
  for (let node = ahead.pop(); node !== undefined; node = ahead.pop()) {
    yield node;
    for (const child of childrenOf(node).toReversed()) ahead.push(child);
  }
}

function childrenOf(node: PdfNode): readonly PdfNode[] {
  const children = CHILDREN.flatMap((field) => (Array.isArray(node[field]) ? node[field] : []));
  return children.filter((child): child is PdfNode => typeof child === 'object' && child !== null);
}

/** The text of a tree in reading order, one line per node that has text. */
export function pdfText(root: PdfNode): string {
  return Array.from(walkPdf(root), ({ content }) => content)
    .filter((content) => typeof content === 'string' && content !== '')
    .join('\n');
}

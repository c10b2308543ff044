import test from '../../harness/test.ts';
import { pdfText, walkPdf } from 'koa-gatehouse/pdf';
import type { PdfNode } from 'koa-gatehouse/pdf';

const text = (content: string): PdfNode => ({ type: 'paragraph', content });

const TREE: PdfNode = {
  kids: [
    { type: 'heading', content: 'Fees', 'heading level': 1 },
    {
      type: 'table',
      rows: [
        { type: 'table row', cells: [{ kids: [text('Year')] }, { kids: [text('Fee')] }] },
        { type: 'table row', cells: [{ kids: [text('2026')] }, { kids: [] }] },
      ],
    },
    {
      type: 'list',
      'list items': [{ content: 'one', kids: [{ 'list items': [text('one a')] }] }, text('two')],
    },
    { type: 'table of contents', 'toc items': [text('Fees ... 1')] },
    { type: 'image', alt: 'A tree' },
    text('The end'),
  ],
};

test('a tree is iterated in reading order, with the rows of tables and the items of lists', (t) => {
  t.is(pdfText(TREE), 'Fees\nYear\nFee\n2026\none\none a\ntwo\nFees ... 1\nThe end');
  const nodes = [...walkPdf(TREE)];
  t.is(nodes[0], TREE);
  t.is(nodes.length, 21);
});

test('a tree of 200,000 levels is iterated without recursion, and one of 300,000 children', (t) => {
  let deep: PdfNode = text('bottom');
  for (let level = 0; level < 200_000; level += 1) deep = { kids: [deep] };
  t.is(pdfText(deep), 'bottom');
  t.is(pdfText({ kids: Array.from({ length: 300_000 }, () => text('x')) }).length, 599_999);
});

test('values that are not nodes are ignored', (t) => {
  const odd = { kids: [null, 5, 'text', [], { content: 5 }, text('a')], rows: 'no', cells: { 0: text('b') } };
  t.is(pdfText(odd as unknown as PdfNode), 'a');
  t.is(pdfText({}), '');
});

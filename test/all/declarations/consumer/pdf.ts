import { PdfClient, PdfError, pdfText, walkPdf } from 'koa-gatehouse/pdf';

export const client = new PdfClient({ baseUrl: 'http://127.0.0.1:3001' });
export const { configured, timeout, retries } = client;
export const tree = await client.extract('a.pdf');
export const image = await client.render('a.pdf', { page: 1 });
export const stream = await client.renderStream('a.pdf');
export const text = pdfText(tree);
export const nodes = [...walkPdf(tree)];
export const node = nodes[0];
export const texts = (given: typeof nodes) => given.map(({ content }) => content);
export const failed = async (file: string) => {
  try {
    return await client.extract(file);
  } catch (error) {
    return error instanceof PdfError ? error : undefined;
  }
};
export const response = (error: PdfError) => error.response;

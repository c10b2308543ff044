import { createHtmlToPdf, gotenbergHtmlToPdf, HtmlToPdfError } from 'koa-gatehouse/html-pdf';

export const chromium = createHtmlToPdf();
export const gotenberg = gotenbergHtmlToPdf({ baseUrl: 'http://127.0.0.1:3000' });
export const pdf = await chromium.convert('<p>Hello</p>');
export const pieces = chromium.stream('<p>Hello</p>');
export const closed = chromium.close();
export const codeOf = (error: unknown) => (error instanceof HtmlToPdfError ? error.code : undefined);

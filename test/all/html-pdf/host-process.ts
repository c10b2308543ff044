// A host with a converter: prints a PDF, then closes the converter or waits for its end.
import { createHtmlToPdf } from 'koa-gatehouse/html-pdf';

const pdf = createHtmlToPdf({ concurrency: 1 });
const bytes = await pdf.convert('<title>Sandboxed</title><p>Text');
console.log(Buffer.from(bytes).toString('base64'));
if (process.argv[2] === 'close') await pdf.close();
else setInterval(() => {}, 60_000);

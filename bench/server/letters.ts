import type { Served } from './serve-contestant.ts';
import { FIXED_CLIENTS } from './serve-contestant.ts';

const SUBJECTS = 'Arithmetic Biology Chemistry Drawing English French Geography History Music Physics'.split(
  ' ',
);

const ROWS = SUBJECTS.map(
  (subject, index) =>
    `<tr><th scope="row">${subject}</th><td>${index + 2} hours</td><td>Room ${index}</td></tr>`,
);

/** A document of one page, as a platform makes it: headings, a table, and a style sheet. */
const LETTER = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Timetable of Hill School</title>
<style>
body { font: 11pt/1.5 sans-serif; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 4pt; border-bottom: 1px solid #ccc; text-align: left; }
</style>
</head>
<body>
<h1>Timetable</h1>
<p>Dear parents, these are the lessons of the year at Hill School. They begin at eight.</p>
<table>${ROWS.join('')}</table>
</body>
</html>`;

/** Serves the letter as a PDF, on every path. */
export function serveLetters(convert: (html: string) => Promise<Uint8Array>): Served {
  return {
    registered: FIXED_CLIENTS,
    listener(_request, response) {
      void convert(LETTER).then(
        (pdf) => response.setHeader('Content-Type', 'application/pdf').end(pdf),
        (error: unknown) => {
          response.statusCode = 500;
          response.end(String(error));
        },
      );
    },
  };
}

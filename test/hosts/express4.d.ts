// Express 4 under another name, beside Express 5 whose types it has here.
declare module 'express4' {
  export { default } from 'express';
}

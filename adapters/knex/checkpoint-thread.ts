// The thread that `checkpoints.ts` starts: it copies what an SQLite file's write-ahead log holds into the file.
import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import { CHANGED, CLOSED, PAUSED } from './checkpoints.ts';
import type { CheckpointThreadData } from './checkpoints.ts';
import { loadBetterSqlite3 } from '../drivers/load-better-sqlite3.ts';

// Pages of 4 KiB, 10 MB: a page that is changed often is copied once for many commits.
const LOG_PAGES = 2500;
const LONG_LOG_PAGES = 4500;

const INTERVAL: Milliseconds = 20;
const REST = 1000;

const { filename, shared } = workerData as CheckpointThreadData;
const state = new Int32Array(shared);
const file = new (loadBetterSqlite3())(filename, { fileMustExist: true });
// How long the start of a new log waits for readers and writers of other processes, in milliseconds.
file.pragma('busy_timeout = 200');
file.pragma('synchronous = normal');
const logIndex = openSync(`${filename}-shm`, 'r');
const word = Buffer.alloc(4);
// From now on, the connections of the process may leave it to this thread.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port, not a window
parentPort!.postMessage('ready');

let pages = 0;
let newLogAt = LOG_PAGES;
let restedSince = performance.now();
while (Atomics.load(state, CLOSED) === 0) {
  const before = pages;
  pages = pagesInLog();
  if (pages !== before) restedSince = performance.now();
  if (pages < before) newLogAt = LOG_PAGES;
  if (pages > 0 && performance.now() - restedSince >= REST) {
    checkpoint('truncate');
    restedSince = performance.now();
  } else if (pages >= newLogAt && pages !== before) {
    // Where another process prevents it, the next attempt waits for more pages, so that transactions of this process are not paused at
    // each turn.
    if (!startNewLog()) newLogAt = pages + LOG_PAGES;
  }
  if (pagesInLog() === 0) Atomics.wait(state, CHANGED, 0);
  Atomics.store(state, CHANGED, 0);
  Atomics.wait(state, CLOSED, 0, INTERVAL);
}
closeSync(logIndex);
file.close();

/** The length of the log: `mxFrame` of the WAL index, at offset 16 (https://www.sqlite.org/walformat.html, section 2.1). */
function pagesInLog(): number {
  readSync(logIndex, word, 0, 4, 16);
  return endianness() === 'LE' ? word.readUInt32LE() : word.readUInt32BE();
}

/**
 * Under load, passive checkpoints alone never let the log begin again. Two of them leave little for the third, during which nobody can
 * write: the transactions of this process wait until it has ended.
 *
 * @returns `false` when another process has a lock that this needs
 */
function startNewLog(): boolean {
  for (let passes = 0; passes < 2; passes += 1) {
    // This thread has had too little time, and the log has grown meanwhile.
    if (pagesInLog() >= LONG_LOG_PAGES) Atomics.store(state, PAUSED, 1);
    checkpoint('passive');
  }
  Atomics.store(state, PAUSED, 1);
  const isDone = checkpoint('restart');
  Atomics.store(state, PAUSED, 0);
  return isDone;
}

/** @returns `false` when it could not be completed: another process has a lock, or the disk is full; the log keeps what it has */
function checkpoint(mode: 'passive' | 'restart' | 'truncate'): boolean {
  try {
    return file.pragma(`wal_checkpoint(${mode})`, { simple: true }) === 0;
  } catch {
    return false;
  }
}

/** Lets the processes of a run share what V8 compiles: each file of tests is a process, and most load the same modules. */
import { enableCompileCache } from 'node:module';

enableCompileCache();

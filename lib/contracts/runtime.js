// The first import of every entry point: on an old Node this sentence is what a person sees, instead of a crash
// in a native module. Plain JavaScript, because an old Node cannot read TypeScript.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 20)) {
  process.stderr.write(
    `koa-gatehouse needs Node.js 22.20 or newer (24 is recommended), but this process runs ${process.version} (${process.execPath}).\n`,
  );
  process.exit(1);
}

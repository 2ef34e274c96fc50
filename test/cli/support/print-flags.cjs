// Prints each flag that a program gives to V8 while it runs. Loaded before the program, with --require.
const { syncBuiltinESMExports } = require("node:module");
const v8 = require("node:v8");
const { setFlagsFromString } = v8;

v8.setFlagsFromString = (flag) => {
  process.stderr.write(`flag ${flag}\n`);
  setFlagsFromString(flag);
};
syncBuiltinESMExports();

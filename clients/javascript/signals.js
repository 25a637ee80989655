/** SIGTERM and SIGINT for all loops of a program, by one listener each. */
const NAMES = ['SIGTERM', 'SIGINT'];
const loops = new Set();
const told = () => loops.forEach((stop) => stop());

/** Calls `stop` at each signal; returns what ends that. */
export function onSignals(stop) {
  if (!globalThis.process?.versions?.node) {
    return () => {};
  }
  if (loops.size === 0) {
    NAMES.forEach((name) => process.on(name, told));
  }
  loops.add(stop);
  return () => {
    if (loops.delete(stop) && loops.size === 0) {
      NAMES.forEach((name) => process.off(name, told));
    }
  };
}

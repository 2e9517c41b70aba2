// @ts-check
// Sizes and spans of time as people say them.

/** Bytes with a unit: 1.5 GB. */
export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return (n < 10 && i ? n.toFixed(1) : String(Math.round(n))) + " " + units[i];
}

/** Seconds in the two largest units: 3 d 4 h. */
export function span(s) {
  const parts = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"], [Math.floor(s / 60) % 60, "min"], [Math.floor(s) % 60, "s"]];
  const from = parts.findIndex(([n]) => n);
  return from < 0 ? "0 s" : parts.slice(from, from + 2).filter(([n]) => n).map(([n, u]) => n + " " + u).join(" ");
}

// @ts-check
// A file of somebody's computer, on its way to an import.

/** How much of a CSV file a preview is sent: its beginning is enough. */
const beginning = 512 * 1024;

/** The format of a file by its name; "" when it is none we read. */
export const formatOf = (file) => (/\.xlsx$/i.test(file.name) ? "xlsx" : /\.(csv|tsv|txt)$/i.test(file.name) ? "csv" : "");

/** What a preview needs of a file: all of a workbook, the first lines of a CSV file. */
export async function sample(file) {
  if (formatOf(file) === "xlsx" || file.size <= beginning) return file;
  const bytes = new Uint8Array(await file.slice(0, beginning).arrayBuffer());
  return bytes.slice(0, bytes.lastIndexOf(10) + 1);
}

/** The mapping an import is told: columns whose path is not their name. */
export const mappingOf = (columns) => Object.fromEntries(columns.filter((c) => c.name && (c.path || "") !== c.name).map((c) => [c.name, c.path || ""]));

/** A name that can stand in a path. */
export const slug = (name) => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || "column";

/** Where a column of twins of a protocol may go. */
export function targets(protocol, columns) {
  const own = Object.keys(protocol?.properties || {}).sort().map((n) => "properties." + n.replaceAll(".", "\\."));
  const roles = Object.keys(protocol?.relationships || {}).sort().map((n) => "relationships." + n);
  const used = columns.map((c) => c.path).filter(Boolean);
  return [...new Set([...used, ...own, "properties.location.lat", "properties.location.lon", ...roles, "did", "type", "protocol", "startDate", "endDate"])];
}

// @ts-check
// A small part of Markdown as nodes, never as text of HTML: paragraphs, headings,
// lists, tables, code, emphasis, and links to http(s) addresses and to pages of
// the console. Everything else is shown as it was written.
import { html, useRef } from "../vendor/preact.js";
import { base, twinHref } from "./router.js";
import { short } from "./ui.js";

const inlineForm = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?])|(did:[a-z0-9]+:[A-Za-z0-9:._/%-]*[A-Za-z0-9])/;

/** The address of a link, or "" when it leads somewhere a link may not. */
export function safeHref(to) {
  if (/^\/console(\/|$)/.test(to) && !to.includes("\\")) return to;
  if (!/^https?:\/\//i.test(to)) return "";
  try {
    const u = new URL(to);
    return /^https?:$/.test(u.protocol) ? u.href : "";
  } catch {
    return "";
  }
}

function Link({ to, children }) {
  const href = safeHref(to);
  if (!href) return children;
  return href.startsWith(base) ? html`<a class="in-text" href=${href}>${children}</a>` : html`<a class="in-text" href=${href} rel="noreferrer noopener" target="_blank">${children}</a>`;
}

function inline(text) {
  const out = [];
  let rest = text, m;
  while ((m = inlineForm.exec(rest))) {
    if (m.index) out.push(rest.slice(0, m.index));
    if (m[1] !== undefined) out.push(html`<code>${m[1]}</code>`);
    else if (m[2] !== undefined) out.push(html`<strong>${m[2]}</strong>`);
    else if (m[3] !== undefined) out.push(html`<em>${m[3]}</em>`);
    else if (m[4] !== undefined) out.push(safeHref(m[5]) ? html`<${Link} to=${m[5]}>${m[4]}</${Link}>` : m[0]);
    else if (m[6] !== undefined) out.push(html`<${Link} to=${m[6]}>${m[6]}</${Link}>`);
    else out.push(html`<a class="in-text" href=${twinHref(m[7])} title=${m[7]}>${short(m[7])}</a>`);
    rest = rest.slice(m.index + m[0].length);
  }
  if (rest) out.push(rest);
  return out;
}

const fence = /^\s*```/, heading = /^#{1,6} /, item = /^\s*([-*+]|\d+[.)]) /, row = /^\s*\|.*\|\s*$/, rule = /^\s*\|[\s:|-]+\|\s*$/;

/** Cuts a text into blocks: each the lines of one. */
export function blocksOf(text) {
  const out = [], lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const from = i, same = (form) => { while (i < lines.length && form.test(lines[i])) i++; };
    if (fence.test(lines[i])) {
      for (i++; i < lines.length && !fence.test(lines[i]); i++);
      i++;
    } else if (heading.test(lines[i]) || !lines[i].trim()) i++;
    else if (item.test(lines[i])) same(item);
    else if (row.test(lines[i])) same(row);
    else while (i < lines.length && lines[i].trim() && ![fence, heading, item, row].some((f) => f.test(lines[i]))) i++;
    const block = lines.slice(from, i).join("\n");
    if (block.trim()) out.push(block);
  }
  return out;
}

const cells = (line) => line.trim().slice(1, -1).split("|").map((c) => c.trim());

function Table({ lines }) {
  const head = rule.test(lines[1] || "") ? cells(lines[0]) : null;
  return html`<div class="table-wrap" tabindex="0"><table class="tight">
    ${head && html`<thead><tr>${head.map((c) => html`<th scope="col">${inline(c)}</th>`)}</tr></thead>`}
    <tbody>${lines.slice(head ? 2 : 0).map((l) => html`<tr>${cells(l).map((c) => html`<td>${inline(c)}</td>`)}</tr>`)}</tbody></table></div>`;
}

function show(block) {
  const lines = block.split("\n");
  if (fence.test(block)) return html`<pre tabindex="0"><code>${lines.slice(1, fence.test(lines[lines.length - 1]) && lines.length > 1 ? -1 : undefined).join("\n")}</code></pre>`;
  if (heading.test(block)) return html`<h4>${inline(block.replace(heading, ""))}</h4>`;
  if (item.test(block)) {
    const all = lines.map((l) => html`<li>${inline(l.replace(item, ""))}</li>`);
    return /^\s*\d/.test(block) ? html`<ol>${all}</ol>` : html`<ul>${all}</ul>`;
  }
  if (row.test(lines[0])) return html`<${Table} lines=${lines} />`;
  return html`<p>${lines.map((l, i) => [i ? html`<br />` : null, inline(l)])}</p>`;
}

/** Shows a text. While it grows, only its last block is parsed again. */
export function Markdown({ text }) {
  const done = useRef(/** @type {{blocks: string[], nodes: any[]}} */ ({ blocks: [], nodes: [] }));
  const blocks = blocksOf(String(text || "")), old = done.current;
  const nodes = blocks.map((b, i) => (old.blocks[i] === b ? old.nodes[i] : show(b)));
  done.current = { blocks, nodes };
  return html`<div class="md">${nodes.map((n, i) => html`<div key=${i}>${n}</div>`)}</div>`;
}

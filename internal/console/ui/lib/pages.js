// @ts-check
// The pages there are: their address, what a key needs to see them, and the
// letter that goes there after g. The menu, the help and the tests read it.
import { hasArea, may } from "./api.js";

/** Whether interviews are all that whoever is signed in is here for. */
const collects = () => hasArea("b") && may("responses:write") && !may("surveys:write") && !may("responses:verify");

export const pages = [
  { path: "/", name: "today", icon: "home", key: "h", menu: "work", load: () => (collects() ? import("../pages/interviews.js") : import("../pages/today.js")) },
  { path: "/twins", name: "twins", icon: "twins", key: "t", menu: "work", scope: "entities:read", load: () => import("../pages/twins.js") },
  { path: "/twins/:did", name: "twin", scope: "entities:read", load: () => import("../pages/twin.js") },
  { path: "/surveys", name: "surveys", icon: "survey", key: "s", menu: "work", scope: "surveys:read", area: "b", load: () => import("../pages/surveys.js") },
  { path: "/surveys/new", name: "surveynew", scope: "surveys:write", area: "b", load: () => import("../pages/surveynew.js") },
  { path: "/surveys/:id", name: "survey", scope: "surveys:read", area: "b", load: () => import("../pages/survey.js") },
  { path: "/surveys/:id/fill", name: "fill", scope: "responses:write", area: "b", load: () => import("../pages/fill.js") },
  { path: "/interviews", name: "interviews", icon: "people", key: "q", menu: "work", scope: "responses:write", area: "b", load: () => import("../pages/interviews.js") },
  { path: "/responses/:id", name: "response", scope: "responses:read", area: "b", load: () => import("../pages/response.js") },
  { path: "/sampling", name: "samples", icon: "dice", key: "n", menu: "work", scope: "sampling:read", area: "b", load: () => import("../pages/samples.js") },
  { path: "/sampling/new", name: "samplenew", scope: "sampling:write", area: "b", load: () => import("../pages/samplenew.js") },
  { path: "/sampling/:id", name: "sample", scope: "sampling:read", area: "b", load: () => import("../pages/sample.js") },
  { path: "/kpt", name: "kpt", icon: "flame", key: "v", menu: "work", scope: "responses:read", area: "b", load: () => import("../pages/kpt.js") },
  { path: "/claims", name: "claims", icon: "seal", key: "i", menu: "work", scope: "claims:read", area: "a", load: () => import("../pages/claims.js") },
  { path: "/claims/new", name: "claimnew", scope: "claims:write", area: "a", load: () => import("../pages/claimnew.js") },
  { path: "/claims/:id", name: "claim", scope: "claims:read", area: "a", load: () => import("../pages/claim.js") },
  { path: "/desk", name: "desk", icon: "desk", key: "d", menu: "work", scope: "responses:verify", area: "b", load: () => import("../pages/desk.js") },
  { path: "/places", name: "places", icon: "pin", key: "f", menu: "work", scope: "entities:read", load: () => import("../pages/places.js") },
  { path: "/import", name: "import", icon: "upload", key: "m", menu: "work", scope: "imports:write", load: () => import("../pages/import.js") },
  { path: "/exports", name: "exports", icon: "file", key: "e", menu: "work", scope: "exports:read", load: () => import("../pages/exports.js") },
  { path: "/chat", name: "chat", icon: "chat", key: "o", menu: "line", area: "d", load: () => import("../pages/chat.js") },
  { path: "/runs", name: "runs", icon: "activity", key: "r", menu: "line", area: "d", load: () => import("../pages/runs.js") },
  { path: "/runs/:id", name: "run", area: "d", load: () => import("../pages/run.js") },
  { path: "/plugins", name: "plugins", icon: "plug", key: "x", menu: "line", scope: "oracle:read", area: "d", load: () => import("../pages/plugins.js") },
  { path: "/mcp", name: "mcp", icon: "hook", key: "y", menu: "line", scope: "oracle:read", area: "d", load: () => import("../pages/mcp.js") },
  { path: "/mcp/:name", name: "mcpserver", scope: "oracle:read", area: "d", load: () => import("../pages/mcpserver.js") },
  { path: "/templates", name: "templates", icon: "file", menu: "work", scope: "templates:read", area: "b", load: () => import("../pages/templates.js") },
  { path: "/templates/:id", name: "template", scope: "templates:read", area: "b", load: () => import("../pages/template.js") },
  { path: "/protocols", name: "protocols", icon: "graph", menu: "work", scope: "protocols:read", load: () => import("../pages/protocols.js") },
  { path: "/protocols/:did", name: "protocol", scope: "protocols:read", load: () => import("../pages/protocol.js") },
  { path: "/handset", name: "handset", icon: "phone", key: "p", menu: "line", scope: "ussd:simulate", area: "c", load: () => import("../pages/handset.js") },
  { path: "/menu", name: "menu", icon: "graph", key: "l", menu: "line", scope: "ussd:read", area: "c", load: () => import("../pages/menu.js") },
  { path: "/calls", name: "calls", icon: "phone", key: "c", menu: "line", scope: "ussd:read", area: "c", load: () => import("../pages/calls.js") },
  { path: "/calls/:id", name: "call", scope: "ussd:read", area: "c", load: () => import("../pages/call.js") },
  { path: "/accounts", name: "accounts", icon: "people", key: "b", menu: "line", scope: "ussd:read", area: "c", load: () => import("../pages/accounts.js") },
  { path: "/jobs", name: "jobs", icon: "jobs", key: "j", menu: "run", scope: "jobs:read", load: () => import("../pages/jobs.js") },
  { path: "/people", name: "people", icon: "people", key: "u", menu: "run", scope: "keys:read", load: () => import("../pages/people.js") },
  { path: "/keys", name: "keys", icon: "key", key: "k", menu: "run", scope: "keys:read", load: () => import("../pages/keys.js") },
  { path: "/audit", name: "audit", icon: "activity", key: "a", menu: "run", scope: "audit:read", load: () => import("../pages/audit.js") },
  { path: "/webhooks", name: "webhooks", icon: "hook", key: "w", menu: "run", scope: "webhooks:read", load: () => import("../pages/webhooks.js") },
  { path: "/webhooks/:id", name: "webhook", scope: "webhooks:read", load: () => import("../pages/webhook.js") },
  { path: "/health", name: "health", icon: "activity", menu: "run", scope: "operations:read", load: () => import("../pages/health.js") },
  { path: "/backups", name: "backups", icon: "file", menu: "run", scope: "operations:read", load: () => import("../pages/backups.js") },
  { path: "/settings", name: "settings", icon: "jobs", menu: "run", scope: "operations:read", load: () => import("../pages/settings.js") },
  { path: "/erasure", name: "erasure", icon: "lock", menu: "run", scope: "audit:read", area: "a", load: () => import("../pages/erasure.js") },
  { path: "/help", name: "help", icon: "more", menu: "run", load: () => import("../pages/help.js") },
];

/** The groups of the menu, in order. */
export const groups = ["work", "line", "run"];

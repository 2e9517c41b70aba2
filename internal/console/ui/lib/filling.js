// @ts-check
// An interview while it is filled in: its answers, what the server says to them,
// and the draft the server keeps. Nothing of it is kept in the browser.
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { call, isStale, newId } from "./api.js";
import { setQuery } from "./router.js";
import { isBlank } from "./question.js";

const path = (id) => "/v1/surveys/" + encodeURIComponent(id);

/** The answers a form begins with. */
function beginning(template, sections) {
  const out = {};
  for (const s of template.sections) {
    if (sections?.length && !sections.includes(s.id)) continue;
    for (const q of s.questions) if (!isBlank(q.default)) (out[s.id] ??= {})[q.id] = q.default;
  }
  return out;
}

/** Reads what the page needs; an interview that was begun goes on. */
export async function begin(surveyId, asked) {
  const survey = await call(path(surveyId));
  const template = await call(`/v1/templates/${encodeURIComponent(survey.templateId)}/versions/${survey.templateVersion}`);
  const fresh = { survey, template, revision: 0, content: { householdId: asked.household || "", responses: beginning(template, survey.sections), startedAt: new Date().toISOString() } };
  if (!asked.response) return fresh;
  try {
    const d = await call(`${path(surveyId)}/drafts/${encodeURIComponent(asked.response)}`);
    const { householdId, language, startedAt, timestamp, section, location, responses } = d;
    return { survey, template, revision: d.revision, savedAt: d.savedAt, content: { householdId, language, startedAt, timestamp, section, location, responses } };
  } catch (e) {
    if (e.code !== "DRAFT_NOT_FOUND") throw e;
  }
  try {
    return { ...fresh, sent: await call("/v1/responses/" + encodeURIComponent(asked.response)) };
  } catch (e) {
    if (e.status !== 404) throw e;
  }
  return fresh;
}

/** What is sent of a content: members without a value are left out. */
const trimmed = (c) => Object.fromEntries(Object.entries(c).filter(([, v]) => !isBlank(v)));

/** The interview as it stands, and what can be done with it. */
export function useInterview(surveyId, first, responseId) {
  const [content, setContent] = useState(first.content), [view, setView] = useState(/** @type {any} */ (null));
  const [state, setState] = useState(/** @type {any} */ (first.savedAt ? { saved: first.savedAt } : {})), [error, fail] = useState(/** @type {any} */ (null));
  const [sent, setSent] = useState(first.sent || null), [busy, wait] = useState(false);
  const now = useRef({ content: first.content, id: responseId || "", revision: first.revision, changed: false, saving: null, timer: 0, over: false }).current;

  const save = async () => {
    clearTimeout(now.timer);
    if (now.saving) { await now.saving.catch(() => {}); }
    if (!now.changed || now.over || !now.content.householdId) return;
    now.changed = false;
    setState((s) => ({ ...s, busy: true }));
    const headers = now.revision ? { "If-Match": `"${now.revision}"` } : {};
    now.saving = call(`${path(surveyId)}/drafts/${now.id}`, { method: "PUT", headers, body: { ...trimmed(now.content), responses: now.content.responses } });
    try {
      const d = await now.saving;
      now.revision = d.revision;
      setState({ saved: d.savedAt });
      fail(null);
    } catch (e) {
      now.changed = true;
      setState((s) => ({ saved: s.saved, failed: true }));
      fail(e);
      if (!e.status) now.timer = setTimeout(save, 5000); // the network may come back
    } finally {
      now.saving = null;
    }
  };
  const change = (members) => {
    if (now.over) return;
    if (!now.id) {
      now.id = newId();
      setQuery({ response: now.id }, { replace: true });
    }
    now.content = { ...now.content, ...members };
    if (!("timestamp" in members) && !("section" in members)) delete now.content.timestamp; // it is another content now
    setContent(now.content);
    now.changed = true;
    setState((s) => ({ ...s, waits: true }));
    clearTimeout(now.timer);
    now.timer = setTimeout(save, 700);
  };
  useEffect(() => {
    const hide = () => { if (document.visibilityState === "hidden") save(); };
    document.addEventListener("visibilitychange", hide);
    return () => { document.removeEventListener("visibilitychange", hide); save(); };
  }, []);
  useEffect(() => {
    const look = setTimeout(async () => {
      const { survey } = first;
      try {
        setView(await call(`/v1/templates/${encodeURIComponent(survey.templateId)}/preview`, { method: "POST", name: "preview",
          body: { version: survey.templateVersion, sections: survey.sections, language: content.language, answers: content.responses } }));
      } catch (e) { if (!isStale(e)) fail(e); }
    }, view ? 200 : 0);
    return () => clearTimeout(look);
  }, [content.responses, content.language]);

  // The id, and the moment it ended, are the same however often it is sent.
  const send = async (partial, supersedes) => {
    if (busy) return;
    wait(true);
    fail(null);
    try {
      if (!now.content.timestamp) change({ timestamp: new Date().toISOString() });
      await save();
      const { section: _, ...body } = trimmed(now.content);
      const record = await call(`${path(surveyId)}/responses`, { method: "POST", body: { ...body, responses: now.content.responses, responseId: now.id, ...(partial ? { partial: true } : {}), ...(supersedes ? { supersedes } : {}) } });
      now.over = true;
      setSent(record);
    } catch (e) { fail(e); }
    wait(false);
  };
  const discard = async () => {
    now.over = true;
    clearTimeout(now.timer);
    if (now.saving) await now.saving.catch(() => {});
    if (now.revision) await call(`${path(surveyId)}/drafts/${now.id}`, { method: "DELETE" });
  };
  return { content, view, state, error, sent, busy, change, send, discard };
}

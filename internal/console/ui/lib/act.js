// @ts-check
// Things a person does on a page: a button that opens a dialog, and a call whose
// failure is shown where it was asked for.
import { html, useRef, useState } from "../vendor/preact.js";
import { newId } from "./api.js";

/**
 * Does one thing at a time. run(f) gives what f gives, or undefined when it
 * failed, and then error says why.
 */
export function useAct() {
  const [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null)), at = useRef(false);
  const run = async (f) => {
    if (at.current) return undefined;
    at.current = true;
    wait(true);
    fail(null);
    try {
      return await f();
    } catch (e) {
      fail(e);
      return undefined;
    } finally {
      at.current = false;
      wait(false);
    }
  };
  return { run, busy, error, clear: () => fail(null) };
}

/** The same for each try of one request, so that it is carried out once. */
export function useOnce() {
  const id = useRef(newId());
  return { headers: () => ({ "Idempotency-Key": id.current }), renew: () => { id.current = newId(); } };
}

/** A button that opens a dialog. children(close) is what stands in it; closed is called however it closes. */
export function Dialog({ label, title = label, primary = false, small = false, closed = () => {}, children }) {
  const box = useRef(/** @type {any} */ (null)), [open, set] = useState(false);
  const close = () => box.current?.close(); // the page may be gone meanwhile
  return html`<button type="button" class=${(primary ? "primary " : "") + (small ? "small" : "")} onClick=${() => { set(true); box.current.showModal(); }}>${label}</button>
    <dialog ref=${box} aria-label=${title} onClose=${() => { set(false); closed(); }}>${open ? children(close) : null}</dialog>`;
}

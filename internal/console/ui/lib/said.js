// @ts-check
// Sentences of the server in the language of the page, made of the code and the values
// that stand beside them. What has no words here stays as the server has said it.
import { has, number, said, t } from "./words.js";

/** What stands in a sentence of the chain, in words. */
function spoken(values) {
  const out = { ...values };
  if (out.status && has("state." + out.status)) out.status = t("state." + out.status);
  if (out.outcome && has("claim.outcome." + out.outcome)) out.outcome = t("claim.outcome." + out.outcome);
  if (out.reasons) out.reasons = out.reasons.split(" ").map((r) => said("credential." + r)).reduce((all, r) => all && r && all + "; " + r);
  return out;
}

/** What came out at a step of the chain below a credential. */
export function stepText(step) {
  const values = spoken(step.values);
  return (Object.values(values).every(Boolean) && said("chain." + step.code, values)) || step.detail;
}

/** The name of a check. */
export const ruleName = (rule) => said("flag." + rule) || rule.replaceAll("_", " ");

const whole = (n) => number(Math.round(n));

/** What a check has found. */
export const flagText = (f) => said("says." + f.rule, { value: whole(f.value || 0), limit: whole(f.limit || 0), percent: whole(100 * (f.value || 0)), least: whole(100 * (f.limit || 0)) }) || f.detail || "";

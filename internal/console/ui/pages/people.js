// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call, hasArea, may } from "../lib/api.js";
import { useAct } from "../lib/act.js";
import { NewInvite } from "../lib/invite.js";
import { List } from "../lib/list.js";
import { Members } from "../lib/members.js";
import { Name } from "../lib/names.js";
import { base, route, twinHref } from "../lib/router.js";
import { Rights } from "../lib/scopes.js";
import { Badge, Failure, nameOf, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

function Groups() {
  const group = route.value.query.group;
  const open = (g) => base + "/people?tab=groups&group=" + encodeURIComponent(g.did);
  return html`${group && html`<${Members} key=${group} group=${group} />`}
    <${List} path="/v1/entities" params=${{ type: "MembershipGroup", fields: "did,properties,relationships,status" }} id=${(g) => g.did} href=${open}
      columns=${[
        { label: t("people.group"), cell: (g) => nameOf(g) },
        { label: t("people.of"), cell: (g) => html`<${Name} did=${g.relationships?.find((r) => r.role === "partOf")?.target} />` },
        { label: t("keys.rights"), cell: (g) => html`<${Rights} scopes=${g.properties?.scopes || []} />` },
        { label: t("keys.state"), cell: (g) => html`<${Badge} value=${g.status} />` },
        { label: "", cell: (g) => html`<a href=${twinHref(g.did)}>${t("people.twin")}</a>` },
      ]}
      empty=${{ icon: "people", title: t("people.noGroups"), text: t("people.noGroupsText") }} />`;
}

function Invites({ turn, again }) {
  const act = useAct();
  const revoke = async (v) => {
    if (!confirm(t("people.sure", { name: v.name }))) return;
    await act.run(() => call("/v1/invites/" + encodeURIComponent(v.id), { method: "DELETE" }));
    again();
  };
  return html`<${Failure} error=${act.error} /><${List} path="/v1/invites" turn=${turn} id=${(v) => v.id}
    columns=${[
      { label: t("people.who"), cell: (v) => v.name },
      { label: t("keys.state"), cell: (v) => html`<${Badge} value=${v.status} />` },
      { label: t("keys.rights"), cell: (v) => html`<${Rights} scopes=${v.scopes} />` },
      { label: t("people.by"), cell: (v) => html`<${Name} did=${v.createdBy} />` },
      { label: t("people.usable"), cell: (v) => html`<${Time} at=${v.usedAt || v.revokedAt || v.endsAt} />` },
      { label: "", cell: (v) => (v.status === "open" && may("keys:write") ? html`<button type="button" class="small" onClick=${() => revoke(v)}>${t("people.revoke")}</button>` : null) },
    ]}
    empty=${{ icon: "people", title: t("people.noInvites"), text: t("people.noInvitesText") }} />`;
}

export default function People() {
  const [turn, set] = useState(0), again = () => set((n) => n + 1);
  const groups = hasArea("a") && may("groups:read") && may("entities:read");
  const tab = route.value.query.tab === "groups" && groups ? "groups" : "invites";
  const link = (name) => html`<a href=${base + "/people?tab=" + name} aria-current=${tab === name ? "page" : undefined}>${t("people.tab." + name)}</a>`;
  return html`<${Page} title=${t("page.people")} about=${t("people.about")} actions=${may("keys:write") && html`<${NewInvite} done=${again} />`}>
    <nav class="tabs" aria-label=${t("page.people")}>${link("invites")}${groups && link("groups")}<a href=${base + "/keys"}>${t("people.keys")}</a></nav>
    ${tab === "groups" ? html`<${Groups} key="groups" />` : html`<${Invites} key="invites" turn=${turn} again=${again} />`}</${Page}>`;
}

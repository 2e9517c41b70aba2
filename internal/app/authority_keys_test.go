package app_test

import (
	"slices"
	"strings"
	"time"
)

// issued is a key in an answer.
type issued struct {
	ID        string   `json:"id"`
	Text      string   `json:"key"`
	Principal string   `json:"principal"`
	Networks  []string `json:"networks"`
	Projects  []string `json:"projects"`
	ExpiresAt string   `json:"expiresAt"`
}

func (w *world) doWorkspace(c caller, s step) (rights, bool) {
	id := w.second
	if s.New != "tenant" {
		id = "x" + w.salt + s.New
	}
	r := w.send(c, request{method: "POST", path: "/v1/workspaces", body: text(object{"id": id, "name": id})})
	if !done(r) {
		return rights{}, false
	}
	if c.ws() != operators || c.key != nil && c.key.narrow {
		w.fail("%s has made a workspace", s)
	}
	k := read[struct {
		OwnerKey issued `json:"ownerKey"`
	}](r).OwnerKey
	w.learn(c, &modelKey{name: s.New, ws: id, given: scopesOf("*").in(id), principal: k.Principal}, k)
	return scopesOf("workspaces:write"), true
}

// learn notes a key that somebody has made and knows the text of. It has the
// limits of the key it was made with.
func (w *world) learn(c caller, k *modelKey, i issued) {
	k.id, k.text = i.ID, i.Text
	if k.ws == c.ws() {
		k.bound = append(slices.Clone(k.bound), c.bound()...)
	}
	if c.key != nil {
		k.inside, k.narrow, k.short = k.inside || c.key.inside, k.narrow || c.key.narrow, k.short || c.key.short
	}
	if k.short && i.ExpiresAt == "" {
		w.fail("%s never ends, made with a key that does", k.name)
	}
	w.keys[k.name] = k
	if w.names[k.principal] == "" {
		w.names[k.principal] = k.name
	}
}

// limits of keys, by the letter in How.
func (w *world) limits(how string, k *modelKey, draft object) {
	if strings.Contains(how, "+net") {
		k.inside, draft["networks"] = true, []string{insideNet}
	}
	if strings.Contains(how, "+project") {
		k.narrow, draft["projects"] = true, []string{"did:ixo:project/one"}
	}
	if strings.Contains(how, "+short") {
		k.short, draft["expiresAt"] = true, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	}
}

func (w *world) doKey(c caller, s step) (rights, bool) {
	k := &modelKey{name: s.New, ws: c.ws()}
	draft := object{"name": s.New}
	role, _, _ := strings.Cut(s.How, "+")
	if role != "" {
		draft["role"], k.given, k.byGroups = role, roleRights(role), role == "member"
	}
	if len(s.List) > 0 {
		draft["scopes"] = s.List
		k.given = k.given.and(scopesOf(s.List...))
	}
	asked := k.given
	k.given = k.given.in(k.ws)
	if s.To != "" {
		if k.principal = w.idOf(s.To); k.principal == "" {
			return rights{}, false
		}
		draft["principal"] = k.principal
	}
	w.limits(s.How, k, draft)
	sent := sentOnce{body: text(draft), asked: asked}
	if c.key != nil {
		sent.once = "once-" + w.salt + s.New
	}
	r := w.send(c, request{method: "POST", path: "/v1/api-keys", body: sent.body, once: sent.once})
	if !done(r) {
		return rights{}, false
	}
	w.sent[s.New] = sent
	return w.learnt(c, k, read[issued](r)), true
}

// learnt notes a new key and tells what it takes to make it: all it has now.
func (w *world) learnt(c caller, k *modelKey, i issued) rights {
	other := k.principal != "" && k.principal != c.did()
	k.principal = i.Principal
	need := scopesOf("keys:write").and(k.given)
	if k.byGroups && other {
		need = need.and(w.byGroups(k.ws, k.principal, ""))
	}
	w.learn(c, k, i)
	return need
}

// doAgain sends a request that somebody else has sent with an Idempotency-Key.
func (w *world) doAgain(c caller, s step) (rights, bool) {
	old, sent := w.keys[s.On], w.sent[s.On]
	if old == nil || sent.once == "" {
		return rights{}, false
	}
	r := w.send(c, request{method: "POST", path: "/v1/api-keys", body: sent.body, once: sent.once})
	if !done(r) {
		return rights{}, false
	}
	i := read[issued](r)
	if i.Text == old.text { // an answer that was kept: the same key
		w.keys[s.New] = old
		return scopesOf("keys:write").and(w.grantedTo(old)), true
	}
	k := *old
	k.name, k.ws, k.ended, k.bound, k.given = s.New, c.ws(), false, nil, sent.asked.in(c.ws())
	k.short, k.inside, k.narrow = strings.Contains(sent.body, "expiresAt"), strings.Contains(sent.body, "networks"), strings.Contains(sent.body, "projects")
	return w.learnt(c, &k, i), true
}

func (w *world) doRotate(c caller, s step) (rights, bool) {
	old := w.keys[s.On]
	if old == nil || old.id == "" {
		return rights{}, false
	}
	grace := 3600
	if s.How == "at once" {
		grace = 0
	}
	has := w.grantedTo(old)
	r := w.send(c, request{method: "POST", path: "/v1/api-keys/" + old.id + "/rotate", body: text(object{"graceSeconds": grace})})
	if !done(r) {
		return rights{}, false
	}
	k := *old
	k.name = s.New
	if old.short = true; grace == 0 {
		old.ended = true
	}
	i := read[issued](r)
	if c.key == old {
		k.id, k.text = i.ID, i.Text
		w.keys[k.name] = &k
	} else {
		w.learn(c, &k, i)
		has = has.and(scopesOf("keys:write"))
	}
	return has.and(scopesOf("keys:write")), true
}

// grantedTo is what a key would have if nobody before it had lost anything.
func (w *world) grantedTo(k *modelKey) rights {
	if k.byGroups {
		return w.byGroups(k.ws, k.principal, "")
	}
	return k.given
}

func (w *world) doRevoke(c caller, s step) (rights, bool) {
	old := w.keys[s.On]
	if old == nil || old.id == "" {
		return rights{}, false
	}
	has, was := w.grantedTo(old), old.ended
	if !done(w.send(c, request{method: "DELETE", path: "/v1/api-keys/" + old.id})) {
		return rights{}, false
	}
	old.ended = true
	if c.key == old || was {
		return scopesOf("keys:write"), true
	}
	return has.and(scopesOf("keys:write")), true
}

package app_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// protocols of the twins that are made here.
var kinds = map[string]string{"Person": "did:ixo:protocol/person", "Organisation": "did:ixo:protocol/organisation", "Device": "did:ixo:protocol/template"}

// didKeys are the did:keys of hands.
func (w *world) didKeys(names []string) []string {
	out := []string{}
	for _, n := range names {
		out = append(out, w.hands[n])
	}
	return out
}

// draft is a twin that somebody wants to make.
func (w *world) draft(kind, name string, keys []string) object {
	d := object{"type": kind, "protocol": kinds[kind], "alsoKnownAs": w.didKeys(keys)}
	if kind == "Device" {
		d["services"] = []object{{"id": "#x", "type": "X", "endpoint": "https://" + name + ".example.org/"}}
	} else {
		d["properties"] = object{"name": name}
	}
	return d
}

// doTwin makes a twin: How is its kind, List who has its keys, To whom it is
// controlled by besides the caller.
func (w *world) doTwin(c caller, s step) (rights, bool) {
	kind, way, _ := strings.Cut(s.How, " ")
	d := w.draft(kind, s.New, s.List)
	if s.To != "" {
		d["controllers"] = []string{c.did(), w.idOf(s.To)}
		if w.idOf(s.To) == "" {
			return rights{}, false
		}
	}
	r := request{method: "POST", path: "/v1/entities", body: text(d)}
	if way == "batch" {
		r.path, r.body = "/v1/entities:batch", text(object{"atomic": true, "operations": []object{{"op": "create", "entity": d}}})
	}
	out := w.send(c, r)
	if !done(out) {
		return rights{}, false
	}
	id := read[struct {
		DID string `json:"did"`
	}](out).DID
	if way == "batch" {
		id = read[struct {
			Results []struct {
				DID string `json:"did"`
			} `json:"results"`
		}](out).Results[0].DID
	}
	t := &modelTwin{name: s.New, ws: c.ws(), did: id, kind: kind, keys: map[string]*placed{}, status: "active", maker: s.Who}
	w.twins[s.New], w.names[id] = t, s.New
	for _, hand := range s.List {
		w.place(c, t, hand)
	}
	return scopesOf("entities:write"), true
}

// patch sends a change of a twin in one of the ways there are.
func (w *world) patch(c caller, id, way string, change object) bool {
	r := request{method: "PATCH", path: at(id), body: text(change), media: "application/merge-patch+json"}
	switch way {
	case "json":
		var ops []object
		for name, v := range change {
			if m, ok := v.(object); ok { // one property
				for inner, v := range m {
					ops = append(ops, object{"op": "add", "path": "/" + name + "/" + inner, "value": v})
				}
				continue
			}
			ops = append(ops, object{"op": "add", "path": "/" + name, "value": v})
		}
		r.body, r.media = text(ops), "application/json-patch+json"
	case "batch":
		r = request{method: "POST", path: "/v1/entities:batch", body: text(object{"atomic": true, "operations": []object{{"op": "patch", "did": id, "ifMatch": "*", "patch": change}}})}
	case "import":
		row := object{"did": id}
		for name, v := range change {
			row[name] = v
		}
		return w.carry(c, "upsert", row)
	}
	return done(w.send(c, r))
}

// doKeys adds a key to a twin (To) or takes all of them away (no To).
func (w *world) doKeys(c caller, s step) (rights, bool) {
	t := w.seen(c, s.On)
	if t == nil {
		return rights{}, false
	}
	var next []string
	for _, hand := range hands {
		if t.keys[hand] != nil && s.To != "" && s.How != "only" || hand == s.To {
			next = append(next, hand)
		}
	}
	may, ok := w.mayBecome(c, t.did), false
	if s.How == "put" {
		ok = done(w.send(c, request{method: "PUT", path: at(t.did), body: text(w.draft(t.kind, t.name, next))}))
	} else {
		ok = w.patch(c, t.did, s.How, object{"alsoKnownAs": w.didKeys(next)})
	}
	if !ok {
		return rights{}, false
	}
	changed := len(next) != len(t.keys)
	for _, hand := range hands {
		switch listed := slices.Contains(next, hand); {
		case listed && t.keys[hand] == nil:
			w.place(c, t, hand)
			changed = true
		case !listed && t.keys[hand] != nil:
			w.unplace(t, hand)
			changed = true
		}
	}
	if changed && !may && !t.copied {
		w.fail("%s changed the keys of %s, who can do more", s, s.On)
	}
	return scopesOf("entities:write"), true
}

// seen finds the record a caller sees under the name of a twin.
func (w *world) seen(c caller, name string) *modelTwin {
	t := w.twins[name]
	if t == nil {
		return nil
	}
	return w.record(c.ws(), t.did)
}

// doControl adds a controller (To) to a twin.
func (w *world) doControl(c caller, s step) (rights, bool) {
	id, to := w.idOf(s.On), w.idOf(s.To)
	if id == "" || to == "" {
		return rights{}, false
	}
	may := w.mayBecome(c, id)
	r := request{method: "PUT", path: at(id, "controllers", to)}
	if s.How == "remove" {
		r.method = "DELETE"
	}
	if s.How == "patch" {
		r = request{method: "PATCH", path: at(id), body: text(object{"controllers": []string{to}}), media: "application/merge-patch+json"}
	}
	before := w.control(c.ws(), id)
	out := w.send(c, r)
	if !done(out) {
		return rights{}, false
	}
	changed := text(read[controlled](out)) != before
	if t := w.seen(c, s.On); !may && t != nil && !t.copied && s.How != "remove" && changed {
		w.fail("%s changed the controllers of %s, who can do more", s, s.On)
	}
	return scopesOf("entities:write"), true
}

// controlled is who controls a record.
type controlled struct {
	Controllers []string `json:"controllers"`
	Owner       string   `json:"owner"`
}

// control is who controls a record now, as its owner reads it.
func (w *world) control(ws, id string) string {
	k := w.keys["root"]
	if ws != operators {
		k = w.keys["tenant"]
	}
	return text(read[controlled](w.send(caller{key: k}, request{method: "GET", path: at(id)})))
}

func (w *world) doTransfer(c caller, s step) (rights, bool) {
	id, to := w.idOf(s.On), w.idOf(s.To)
	if id == "" || to == "" {
		return rights{}, false
	}
	may := w.mayBecome(c, id)
	before := w.control(c.ws(), id)
	out := w.send(c, request{method: "POST", path: at(id, "transfer"), body: text(object{"controller": to})})
	if !done(out) {
		return rights{}, false
	}
	changed := text(read[controlled](out)) != before
	if t := w.seen(c, s.On); !may && t != nil && !t.copied && changed {
		w.fail("%s took over %s, who can do more", s, s.On)
	}
	return scopesOf("entities:transfer"), true
}

// doStatus takes a twin or a group to a status.
func (w *world) doStatus(c caller, s step) (rights, bool) {
	id := w.idOf(s.On)
	if id == "" {
		return rights{}, false
	}
	r := request{method: "POST", path: at(id, "transitions"), body: text(object{"to": s.How})}
	if s.To == "batch" {
		r = request{method: "POST", path: "/v1/entities:batch", body: text(object{"atomic": true, "operations": []object{{"op": "transition", "did": id, "to": s.How}}})}
	}
	if !done(w.send(c, r)) {
		return rights{}, false
	}
	need := scopesOf("entities:write")
	if g := w.groups[s.On]; g != nil {
		if g.status = s.How; s.How == "active" {
			need = need.and(g.gives)
		}
	} else if t := w.seen(c, s.On); t != nil {
		if t.status, t.ended = s.How, s.How == "deactivated"; s.How == "active" {
			for _, g := range w.groups { // they give something again
				if g.parent == t.name {
					need = need.and(w.given(g))
				}
			}
		}
	}
	return need, true
}

// doErase erases a person: whoever takes keys away so could revoke them.
func (w *world) doErase(c caller, s step) (rights, bool) {
	id := w.idOf(s.On)
	if id == "" {
		return rights{}, false
	}
	need := scopesOf("entities:erase")
	for _, k := range w.keys {
		if k.ws == c.ws() && k.principal == id && !k.ended {
			need = need.and(scopesOf("keys:write")).and(w.grantedTo(k))
		}
	}
	if !done(w.send(c, request{method: "POST", path: "/v1/erasures", body: text(object{"subject": id, "reason": "asked to"})})) {
		return rights{}, false
	}
	w.forget(c.ws(), id)
	return need, true
}

// doCopy makes a record under the DID of another, with keys and services of the
// caller's choice: How is import, upsert, create or put.
func (w *world) doCopy(c caller, s step) (rights, bool) {
	id := w.idOf(s.On)
	if id == "" || w.record(c.ws(), id) != nil {
		return rights{}, false
	}
	kind := "Person"
	if t := w.twins[s.On]; t != nil {
		kind = t.kind
	}
	d := w.draft(kind, s.New, s.List)
	d["did"] = id
	ok := false
	switch s.How {
	case "import":
		ok = w.carry(c, "create", d)
	case "upsert":
		ok = w.carry(c, "upsert", d)
	default:
		ok = done(w.send(c, request{method: "POST", path: "/v1/entities", body: text(d)}))
	}
	if !ok {
		return rights{}, false
	}
	t := &modelTwin{name: s.New, ws: c.ws(), did: id, kind: kind, copied: true, keys: map[string]*placed{}, status: "active", maker: s.Who}
	for _, hand := range s.List {
		t.keys[hand] = &placed{}
	}
	w.twins[s.New] = t
	return scopesOf("entities:write"), true
}

// carry imports a row and waits until it is stored. It is false when the row
// was refused.
func (w *world) carry(c caller, mode string, row object) bool {
	out := w.send(c, request{method: "POST", path: "/v1/imports?format=ndjson&mode=" + mode, body: text(row) + "\n", media: "application/x-ndjson"})
	if !done(out) {
		return false
	}
	ok, err := imported(w.t.Context(), w.h, c.ws(), read[issued](out).ID)
	if err != nil {
		w.fail("wait for an import: %v", err)
	}
	return ok
}

// imported waits for the job of an import, and reports whether it has stored anything.
func imported(ctx context.Context, b *app.Built, ws, id string) (bool, error) {
	ctx, err := b.Auth.AsOwner(ctx, ws)
	for err == nil {
		var j job.Job
		if j, err = b.Jobs.Get(ctx, id); err == nil && j.Status.Final() {
			var counts struct{ Created, Updated, Incomplete int }
			if b, err := json.Marshal(j.Result); err == nil {
				_ = json.Unmarshal(b, &counts, json.MatchCaseInsensitiveNames(true)) // nothing was stored when it failed
			}
			return counts.Created+counts.Updated > 0, nil
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return false, err
}

// doService gives a twin an address that tells whose record it is.
func (w *world) doService(c caller, s step) (rights, bool) {
	t := w.seen(c, s.On)
	if t == nil {
		return rights{}, false
	}
	r := w.send(c, request{method: "PUT", path: at(t.did, "services", "x"), body: text(object{"type": "X", "endpoint": "https://" + t.name + ".example.org/"})})
	return scopesOf("entities:write"), done(r)
}

// doOracle changes the twin of the server's own oracle.
func (w *world) doOracle(c caller, s step) (rights, bool) {
	id := w.h.OracleDID().String()
	r := request{method: "POST", path: at(id, "transfer"), body: text(object{"controller": c.did()})}
	switch s.How {
	case "keys":
		r = request{method: "PATCH", path: at(id), body: text(object{"alsoKnownAs": w.didKeys(s.List)}), media: "application/merge-patch+json"}
	case "control":
		r = request{method: "PUT", path: at(id, "controllers", c.did())}
	case "service":
		r = request{method: "PUT", path: at(id, "services", s.To), body: text(object{"type": "oracleService", "endpoint": "https://elsewhere.example.org/"})}
	}
	if !done(w.send(c, r)) {
		return rights{}, false
	}
	if s.How == "service" {
		return scopesOf("entities:write"), true // the address in the document is checked at the end
	}
	return scopesOf("operations:write"), true
}

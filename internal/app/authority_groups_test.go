package app_test

// doGroup makes an organisation with a group (no On), or a group in one.
func (w *world) doGroup(c caller, s step) (rights, bool) {
	gives := scopesOf(s.List...).in(c.ws())
	if s.On == "" {
		d := w.draft("Organisation", s.New, nil)
		d["groups"] = []object{{"name": "first", "scopes": s.List}}
		out := w.send(c, request{method: "POST", path: "/v1/entities", body: text(d)})
		if !done(out) {
			return rights{}, false
		}
		made := read[struct {
			DID           string `json:"did"`
			Relationships []struct {
				Target string `json:"target"`
			} `json:"relationships"`
		}](out)
		org := &modelTwin{name: s.New + ".org", ws: c.ws(), did: made.DID, kind: "Organisation", keys: map[string]*placed{}, status: "active", maker: s.Who}
		w.twins[org.name], w.names[org.did] = org, org.name
		w.grouped(c, &modelGroup{name: s.New, did: made.Relationships[0].Target, parent: org.name, maker: s.Who}, gives)
		return gives.and(scopesOf("entities:write")), true
	}
	org := w.twins[s.On]
	if org == nil {
		return rights{}, false
	}
	d := object{"name": w.salt + s.New, "scopes": s.List}
	member := w.idOf(s.To)
	if s.To != "" {
		if member == "" {
			return rights{}, false
		}
		d["members"] = []string{member}
	}
	r, need := request{method: "POST", path: at(org.did, "groups"), body: text(d)}, gives.and(scopesOf("groups:write"))
	if s.How == "twin" && s.To == "" {
		r = request{method: "POST", path: "/v1/entities", body: text(object{
			"type": "Group", "protocol": "did:ixo:protocol/group", "properties": d, "relationships": []object{{"role": "partOf", "target": org.did}},
		})}
		need = gives.and(scopesOf("entities:write"))
	}
	out := w.send(c, r)
	if !done(out) {
		return rights{}, false
	}
	g := w.grouped(c, &modelGroup{name: s.New, did: read[struct {
		DID string `json:"did"`
	}](out).DID, parent: s.On, maker: s.Who}, gives)
	if s.To != "" {
		w.admit(c, g, member, nil)
	}
	w.inProject(c, s)
	return need, true
}

// doMove makes a group part of another organisation: it rests meanwhile.
func (w *world) doMove(c caller, s step) (rights, bool) {
	g, org := w.groups[s.On], w.twins[s.To]
	if g == nil || org == nil || !done(w.send(c, request{method: "POST", path: at(g.did, "transitions"), body: `{"to":"suspended"}`})) {
		return rights{}, false
	}
	g.status = "suspended"
	twin := read[struct {
		Relationships []struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		} `json:"relationships"`
	}](w.send(c, request{method: "GET", path: at(g.did)}))
	for _, r := range twin.Relationships {
		if r.Role == "partOf" && done(w.send(c, request{method: "DELETE", path: at(g.did, "relationships", r.ID)})) {
			g.parent = ""
		}
	}
	if done(w.send(c, request{method: "POST", path: at(g.did, "relationships"), body: text(object{"role": "partOf", "target": org.did})})) {
		g.parent = s.To
	}
	need := scopesOf("entities:write")
	if done(w.send(c, request{method: "POST", path: at(g.did, "transitions"), body: `{"to":"active"}`})) {
		g.status = "active"
		need = need.and(g.gives)
	}
	return need, true
}

// given is what a group gives to somebody: nothing without members.
func (w *world) given(g *modelGroup) rights {
	if !w.inForce(g) || len(g.members) == 0 {
		return rights{}
	}
	return g.gives
}

func (w *world) grouped(c caller, g *modelGroup, gives rights) *modelGroup {
	g.ws, g.gives, g.status, g.members = c.ws(), gives, "active", map[string]bool{}
	w.groups[g.name], w.names[g.did] = g, g.name
	return g
}

// inProject notes that a key of one project gave something in all of them.
func (w *world) inProject(c caller, s step) {
	if c.key != nil && c.key.narrow && len(s.List) > 0 {
		w.fail("%s gave rights in all projects with a key of one", s)
	}
}

// doScopes changes what a group gives.
func (w *world) doScopes(c caller, s step) (rights, bool) {
	g := w.groups[s.On]
	if g == nil {
		return rights{}, false
	}
	gives := scopesOf(s.List...).in(g.ws)
	ok := false
	if s.How == "property" {
		ok = done(w.send(c, request{method: "PUT", path: at(g.did, "properties", "scopes"), body: text(s.List)}))
	} else {
		ok = w.patch(c, g.did, s.How, object{"properties": object{"scopes": s.List}})
	}
	if !ok {
		return rights{}, false
	}
	need := scopesOf("entities:write").and(gives.less(g.gives))
	g.gives = gives
	w.inProject(c, s)
	return need, true
}

// doJoin makes somebody (To) a member of a group. List are who has the keys the
// caller has looked at.
func (w *world) doJoin(c caller, s step) (rights, bool) {
	g, id := w.groups[s.On], w.idOf(s.To)
	if g == nil || id == "" {
		return rights{}, false
	}
	body := "{}"
	if len(s.List) > 0 {
		body = text(object{"keys": w.didKeys(s.List)})
	}
	if !done(w.send(c, request{method: "PUT", path: at(g.did, "members", id), body: body})) {
		return rights{}, false
	}
	if may := w.mayBecome(c, id); w.admit(c, g, id, s.List) && !may {
		w.fail("%s said which keys are those of %s, who can do more", s, s.To)
	}
	return scopesOf("groups:write").and(g.gives), true
}

func (w *world) doLeave(c caller, s step) (rights, bool) {
	g, id := w.groups[s.On], w.idOf(s.To)
	if g == nil || id == "" || !done(w.send(c, request{method: "DELETE", path: at(g.did, "members", id)})) {
		return rights{}, false
	}
	delete(g.members, id)
	return scopesOf("groups:write"), true
}

package audit

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// said is what a credential of ours says.
type said struct {
	Issuer  string `json:"issuer"`
	From    string `json:"validFrom"`
	Subject struct {
		Kind        string           `json:"kind"`
		PeriodStart string           `json:"periodStart"`
		PeriodEnd   string           `json:"periodEnd"`
		Amount      *api.ClaimAmount `json:"amount"`
	} `json:"credentialSubject"`
	Status []entry `json:"credentialStatus"`
	Proof  struct {
		Method string `json:"verificationMethod"`
	} `json:"proof"`
}

// entry is a place in a status list.
type entry struct {
	List string `json:"statusListCredential"`
}

// inside is the document of a credential, out of its envelope where it has one.
func inside(doc jsontext.Value) jsontext.Value {
	var e struct {
		ID string `json:"id"`
	}
	jws, ok := "", false
	if json.Unmarshal(doc, &e) == nil {
		jws, ok = strings.CutPrefix(e.ID, "data:"+vc.MediaCredential+",")
	}
	parts := strings.Split(jws, ".")
	if !ok || len(parts) != 3 {
		return doc
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return doc
	}
	return payload
}

// statusOf are the lists that a credential is in.
func statusOf(doc jsontext.Value) []entry {
	var s said
	_ = json.Unmarshal(inside(doc), &s) // what cannot be read is in no list
	return s.Status
}

// keyOf finds a key of the issuers in the bundle; the name of a key ends with the key.
func (a *auditor) keyOf(_ context.Context, method string) (vc.Method, bool, error) {
	k, ok := a.keys[method]
	return k.Method, ok, nil
}

// statusLists reads the keys, and checks the lists with them.
func (a *auditor) statusLists(ctx context.Context) (n int, wrong []string) {
	var all []issuer
	text, err := a.read(issuersName)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	for _, i := range all {
		for _, k := range i.Keys {
			if m, ok := keyNamed(k.ID); ok && m.Controller == k.Issuer {
				a.keys[k.ID] = ed25519Key{m, k.CompromisedSince}
			} else {
				wrong = append(wrong, issuersName+": the key "+k.ID+" is not what its name says.")
			}
		}
	}
	if err == nil {
		v := vc.Verifier{Now: a.now, Lookup: a.keyOf}
		err = each(a.bundle, listsName, func(doc *jsontext.Value) error {
			n++
			var head struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(*doc, &head); err != nil {
				return err
			}
			a.lists[head.ID] = *doc
			for _, r := range v.Credential(ctx, *doc, vc.Options{}).Reasons {
				wrong = append(wrong, fmt.Sprintf("The status list %s: %s %s", head.ID, r.Code, r.Detail))
			}
			return nil
		})
	}
	if err != nil {
		wrong = append(wrong, err.Error()+".")
	}
	return n, wrong
}

// state looks a place up in the lists of the bundle.
func (a *auditor) state(_ context.Context, p vc.StatusPlace) (set, known bool, err error) {
	doc, ok := a.lists[p.List]
	if !ok {
		return false, false, nil
	}
	set, err = p.In(doc)
	return set, true, err
}

// credentials checks signature and state of every credential, and whether it says what
// its claim says.
func (a *auditor) credentials(ctx context.Context) (n int, wrong []string) {
	v := vc.Verifier{Now: a.now, Lookup: a.keyOf, Status: a.state}
	err := each(a.bundle, credentialsName, func(c *issued) error {
		n++
		found := v.Credential(ctx, c.Document, vc.Options{})
		var states []string
		for _, r := range found.Reasons {
			if r.Code == "revoked" || r.Code == "suspended" {
				states = append(states, r.Code)
				continue
			}
			wrong = append(wrong, fmt.Sprintf("The credential %s: %s %s", c.ID, r.Code, r.Detail))
		}
		if text := sameState(c.Status, states); text != "" {
			wrong = append(wrong, "The credential "+c.ID+" "+text)
		}
		for _, w := range found.Warnings {
			a.note("The credential %s: %s %s", c.ID, w.Code, w.Detail)
		}
		wrong = append(wrong, a.agrees(c)...)
		return nil
	})
	if err != nil {
		wrong = append(wrong, err.Error()+".")
	}
	return n, wrong
}

// sameState compares the state of a record with what the lists say.
func sameState(status string, listed []string) string {
	for _, state := range []string{"revoked", "suspended"} {
		if status == state && !slices.Contains(listed, state) {
			return "is " + state + ", and its status list does not say so."
		}
	}
	if status != "revoked" && slices.Contains(listed, "revoked") || (status == "active" || status == "retired") && len(listed) > 0 {
		return "is " + status + ", and its status list says " + strings.Join(listed, " and ") + "."
	}
	return ""
}

// agrees compares a credential with its claim.
func (a *auditor) agrees(c *issued) (wrong []string) {
	no := func(text string) { wrong = append(wrong, "The credential "+c.ID+" "+text) }
	var s said
	if err := json.Unmarshal(inside(c.Document), &s); err != nil {
		no("cannot be read.")
		return wrong
	}
	if k := a.keys[s.Proof.Method]; !k.stolen.IsZero() && s.From >= k.stolen.UTC().Format("2006-01-02T15:04:05Z") {
		no("was signed with a key that was in other hands by then.")
	}
	of := a.claims[c.Claim]
	if of == nil {
		no("is of a claim that is not in the bundle.")
		return wrong
	}
	if s.Subject.Kind != of.Kind || s.Subject.PeriodStart != of.PeriodStart || s.Subject.PeriodEnd != of.PeriodEnd {
		no("says another kind or period than its claim.")
	}
	if c.Status != "revoked" && of.Status != approved && of.Status != disputed {
		no("stands, and its claim is " + of.Status + ".")
	}
	if of.Status == approved && differs("", s.Subject.Amount, of.Approved) != "" {
		no("says another amount than was approved.")
	}
	return wrong
}

func (g *gatherer) credentials() error {
	var all []issued
	err := pages(g.get, "/v1/credentials?projectId="+url.QueryEscape(g.project), func(listed *api.IssuedCredential) error {
		var c struct {
			api.IssuedCredential
			Document jsontext.Value `json:"verifiableCredential"`
		}
		if err := g.get("/v1/credentials/"+url.PathEscape(listed.ID), &c); err != nil {
			return err
		}
		all = append(all, issued{listed.ID, listed.Claim, listed.Issuer, listed.Status, c.Document})
		if !slices.Contains(g.issuers, listed.Issuer) {
			g.issuers = append(g.issuers, listed.Issuer)
		}
		for _, entry := range statusOf(c.Document) {
			if id := entry.List[strings.LastIndexAny(entry.List, "/:")+1:]; !slices.Contains(g.lists, id) {
				g.lists = append(g.lists, id)
			}
		}
		return g.past(listed.ID)
	})
	if err != nil {
		return err
	}
	lists, err := g.listed(all)
	if err != nil {
		return err
	}
	if err := lines(g.w, credentialsName, all); err != nil {
		return err
	}
	return g.signers(lists)
}

// listed remakes the status lists until no credential changes its state meanwhile, so
// that lists and credentials agree.
func (g *gatherer) listed(all []issued) ([]jsontext.Value, error) {
	at := map[string]int{}
	for i := range all {
		at[all[i].ID] = i
	}
	for range 10 {
		var lists []jsontext.Value
		for _, name := range g.lists {
			v, err := g.list(name)
			if err != nil {
				return nil, err
			}
			lists = append(lists, v)
		}
		changed := false
		err := pages(g.get, "/v1/credentials?projectId="+url.QueryEscape(g.project), func(c *api.IssuedCredential) error {
			if i, ok := at[c.ID]; ok && all[i].Status != c.Status {
				all[i].Status, changed = c.Status, true
			}
			return nil
		})
		if err != nil || !changed {
			return lists, err
		}
	}
	return nil, fault.New(fault.Conflict, "REPORT_INCOMPLETE", "The credentials of the project change too fast. Try again later.")
}

// signers writes the keys of the issuers, and their status lists.
func (g *gatherer) signers(lists []jsontext.Value) error {
	keys := []issuer{}
	for _, id := range g.issuers {
		k, err := g.keys(id)
		if err != nil {
			return err
		}
		keys = append(keys, issuer{id, k})
	}
	if err := g.w.value(issuersName, keys); err != nil {
		return err
	}
	return lines(g.w, listsName, lists)
}

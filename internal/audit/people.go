package audit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
)

// anyDID finds DIDs in a text.
var anyDID = regexp.MustCompile(`did:[a-z0-9]+:[A-Za-z0-9._:%/-]*[A-Za-z0-9]`)

// renamed is a text with made-up names in the place of people.
func (g *gatherer) renamed(text []byte) (out []byte, err error) {
	out = anyDID.ReplaceAllFunc(text, func(id []byte) []byte {
		name, e := g.name(string(id))
		if e != nil {
			err = e
		}
		return []byte(name)
	})
	return out, err
}

// hide puts made-up names in the place of people.
func (g *gatherer) hide(ids ...*string) (err error) {
	for _, id := range ids {
		if *id, err = g.name(*id); err != nil {
			return err
		}
	}
	return nil
}

// told are the members of a survey in a bundle.
var told = []string{
	"surveyId", "type", "stage", "projectId", "templateId", "templateVersion", "sections", "sampling", "methodology", "eligibility", "verificationPolicy", "rounds", "round", "status", "revision", "modes", "window",
}

// nobodyInSurvey takes out of a survey who made it and what they wrote.
func (g *gatherer) nobodyInSurvey(all map[string]jsontext.Value) error {
	for name, v := range all {
		switch {
		case !slices.Contains(told, name):
			delete(all, name)
			continue
		case name == "methodology": // the DID of a protocol
			continue
		case name == "sampling" && v.Kind() == '{':
			var s map[string]any
			if err := json.Unmarshal(v, &s); err != nil {
				return err
			}
			if e, ok := s["drawnElsewhere"].(map[string]any); ok {
				delete(e, "by")
				delete(e, "remark")
			}
			text, err := json.Marshal(s, json.Deterministic(true))
			if err != nil {
				return err
			}
			v = text
		}
		text, err := g.renamed(v)
		if err != nil {
			return err
		}
		all[name] = text
	}
	return nil
}

// nobodyInResponse is a response in canonical form, without what people wrote about it.
// The API hides its household and its interviewer; here the people who decided are
// removed, too.
func (g *gatherer) nobodyInResponse(r jsontext.Value) (jsontext.Value, error) {
	var all map[string]any
	if err := json.Unmarshal(r, &all); err != nil {
		return nil, err
	}
	if v, ok := all["verification"].(map[string]any); ok {
		delete(v, "reason")
	}
	flags, _ := all["flags"].([]any) // none otherwise
	for _, f := range flags {
		if m, ok := f.(map[string]any); ok {
			if settled, ok := m["settled"].(map[string]any); ok {
				delete(settled, "note")
			}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	out := jsontext.Value(text)
	if err := out.Canonicalize(); err != nil {
		return nil, err
	}
	return g.renamed(out)
}

// nobodyInDraw takes people and what they wrote out of the record of a draw. The entries
// of the audit log go with them: they hold hashes of DIDs, which anybody could try out.
func (g *gatherer) nobodyInDraw(rec *api.SampleRecord) error {
	if rec.Format == sampling.Format {
		rec.Format = sampling.Masked
	}
	v, d := &rec.Design, &rec.Draw
	d.Entries, d.Reason, v.Reason, v.Name, v.Verification.Note = nil, "", "", "", ""
	if v.Observed != nil {
		v.Observed.Reason = ""
	}
	for i := range v.Totals {
		v.Totals[i].Source = ""
	}
	for i := range d.Earlier {
		d.Earlier[i].Reason = ""
	}
	if d.Second != nil {
		if err := g.hide(&d.Second.Party); err != nil {
			return err
		}
	}
	for i := range rec.Units {
		u := &rec.Units[i]
		if u.Reason != "" {
			u.Reason = "left out" // there was one
		}
		if err := g.hide(&u.By); err != nil {
			return err
		}
	}
	return g.hide(&d.CommittedBy, &d.SecondBy, &d.DrawnBy, &v.CreatedBy, &v.Verification.Verifier)
}

// named finds in a rubric that it asks who claims, or about what.
var named = regexp.MustCompile(`\bclaim\s*[.\[]\s*\\?["']?(claimant|subject)\b`)

// unnamed are the members of a claim that its rubric asks for and that have made-up names
// in a bundle: with these it may decide otherwise.
func (g *gatherer) unnamed(c *api.Claim, r *rules) (out []string) {
	for _, m := range named.FindAllStringSubmatch(string(r.ClaimTypes[c.Kind]), -1) {
		id := c.Subject
		if m[1] == "claimant" {
			id = c.Claimant
		}
		if name := "claim." + m[1]; g.names[id] != id && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// calculation is the one that an approved claim names in its data, if its result is the
// claimed one: nothing else of the data is included. Anybody may write what they like
// there, so other calculations do not count.
func (g *gatherer) calculation(c *api.Claim) *calculation {
	said := calculationOf(c)
	if said == nil {
		return nil
	}
	g.uncounted++
	if c.Status != approved {
		return nil
	}
	got, err := emission.Calculate(said.Asked)
	if err != nil || got.TraceHash != said.TraceHash {
		return nil
	}
	if got, err = emission.Calculate(withoutWords(got.Asked)); err != nil {
		return nil
	}
	g.uncounted--
	return &calculation{Claim: c.ID, Asked: got.Asked, TraceHash: got.TraceHash}
}

// saidCalculation is a calculation as the data of a claim has it.
type saidCalculation struct {
	Asked     api.EmissionDraft `json:"asked"`
	TraceHash string            `json:"traceHash"`
}

// calculationOf is the calculation in the data of a claim; nil for none.
func calculationOf(c *api.Claim) *saidCalculation {
	if c.Document == nil {
		return nil
	}
	var data struct {
		Calculation *saidCalculation `json:"calculation"`
	}
	raw, err := json.Marshal(c.Document.Data)
	if err != nil || json.Unmarshal(raw, &data) != nil || data.Calculation == nil || data.Calculation.TraceHash == "" {
		return nil
	}
	return data.Calculation
}

// withoutWords is a calculation without free text: the sources of estimates, and their
// names. Everything that affects the result stays.
func withoutWords(d api.EmissionDraft) api.EmissionDraft {
	names, estimates := map[string]string{}, map[string]api.EmissionEstimate{}
	for i, name := range slices.Sorted(maps.Keys(d.Estimates)) {
		names[name] = fmt.Sprintf("estimate %d", i+1)
		e := d.Estimates[name]
		e.Source = ""
		estimates[names[name]] = e
	}
	inputs := map[string]api.EmissionInput{}
	for id, in := range d.Inputs {
		in.Estimate = names[in.Estimate]
		in.Items = slices.Clone(in.Items)
		for i, item := range in.Items {
			in.Items[i] = map[string]api.EmissionMember{}
			for id, m := range item {
				m.Estimate = names[m.Estimate]
				in.Items[i][id] = m
			}
		}
		inputs[id] = in
	}
	d.Inputs = inputs
	if d.Estimates != nil {
		d.Estimates = estimates
	}
	return d
}

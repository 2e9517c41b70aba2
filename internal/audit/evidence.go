package audit

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The states of a piece of evidence.
const (
	same      = "same"
	changed   = "changed"
	erased    = "erased"
	missing   = "missing"
	unchecked = "unchecked"
)

// ofCalculation is the type of evidence that stands in the claim itself.
const ofCalculation = "calculation"

const (
	maxPieces      = 100
	maxReadings    = 50000 // of all pieces of a claim
	maxCorrections = 1000  // also of all
)

// thing is a kind of evidence: where it is read, and how its hash is made. A hash
// reveals nothing to readers who may not know the content: those of responses are
// salted, those of twins keyed where something is withheld, and the others leave
// people out.
type thing struct {
	path string // the claimant must be able to read it; %s is the id
	now  func(l *lookup, ctx context.Context, p *api.ClaimEvidence) (hash string, err error)
}

var things = map[string]thing{
	"response":    {"/v1/responses/%s", (*lookup).response},
	"entity":      {"/v1/entities/%s", (*lookup).twin},
	"readings":    {"/v1/devices/%s", (*lookup).readings},
	"kitchenTest": {"/v1/kpt/%s", (*lookup).kitchenTest},
	"file":        {"/v1/attachments/%s", (*lookup).attachment},
}

// readerDID is who asks for hashes.
const readerDID = "did:x:auditor"

// outside is ctx of the reader.
func outside(ctx context.Context) context.Context {
	return web.WithCaller(ctx, web.Caller{Workspace: web.CallerFrom(ctx).Workspace, DID: readerDID, Scopes: append(slices.Clone(scopes), "devices:read")})
}

// as reads paths as the caller of ctx.
func (s *Service) as(ctx context.Context) func(path string, v any) error {
	return func(path string, v any) error { return s.read(ctx, path, v) }
}

// Fix completes pieces of evidence that refer to something on this server: its present
// revision, and its hash. Others do not change. What the caller cannot read, a wrong
// hash, and a calculation with another result are a fault CLAIM_INVALID.
func (s *Service) Fix(ctx context.Context, d *api.ClaimDraft) error {
	var c fault.Checks
	if len(d.Evidence) > maxPieces {
		c.Add("/evidence", "too_many", fmt.Sprintf("A claim has at most %d pieces of evidence.", maxPieces))
		return c.Err("CLAIM_INVALID", "The claim is not valid.")
	}
	l, named := s.lookup(), map[string]api.ClaimEvidence{}
	for i, v := range d.Evidence {
		piece, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if kind, _ := piece["type"].(string); meant(kind) != "" && (piece["id"] != nil || piece["hash"] != nil) {
			c.Add(fmt.Sprintf("/evidence/%d/type", i), "not_allowed", fmt.Sprintf("No evidence has the type %q; did you mean %s? Take another word for what is not kept here.", kind, meant(kind)))
			continue
		}
		if piece["type"] == ofCalculation {
			hash, _ := piece["hash"].(string)
			if _, seen := named[hash]; !seen {
				named[hash] = recalculated(&api.Claim{Document: &api.ClaimBody{Data: d.Data}}, api.ClaimEvidence{Hash: hash})
			}
			if at := fmt.Sprintf("/evidence/%d/hash", i); hash == "" {
				c.Require(false, at)
			} else if found := named[hash]; found.State != same {
				c.Add(at, "mismatch", found.Detail+" Send what POST /v1/emissions:calculate has answered as data.calculation, and its traceHash here.")
			}
		}
		if err := l.fix(ctx, fmt.Sprintf("/evidence/%d", i), piece, &c); err != nil {
			return err
		}
	}
	return c.Err("CLAIM_INVALID", "The claim is not valid.")
}

// meant returns the type that a misspelt one, such as "Response", means; "" for a type
// that is right, or not ours. A misspelt one would be stored and never looked up.
func meant(kind string) string {
	names := append(slices.Sorted(maps.Keys(things)), ofCalculation)
	if slices.Contains(names, kind) {
		return ""
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, kind) }); i >= 0 {
		return names[i]
	}
	// A film is not a misspelt file, nor is identity a misspelt entity: people get the first letter right.
	near := check.Nearest(kind, names)
	if len(kind) < 5 || near == "" || near[0] != kind[0] {
		return ""
	}
	return near
}

// fix completes one piece; at is its pointer.
func (l *lookup) fix(ctx context.Context, at string, piece map[string]any, c *fault.Checks) error {
	kind, _ := piece["type"].(string)
	about, known := things[kind]
	if !known {
		return nil
	}
	p, err := parse(piece)
	switch {
	case err != nil:
		c.Add(at, "wrong_type", "A piece of this type has id, revision, from, to and hash: texts, and a whole number.")
		return nil
	case p.ID == "":
		c.Require(false, at+"/id")
		return nil
	}
	if err := l.allowed(ctx, fmt.Sprintf(about.path, url.PathEscape(p.ID))); fault.As(err) != nil {
		c.Add(at+"/id", "not_found", "Nothing that you may read has this id.")
		return nil
	} else if err != nil {
		return err
	}
	hash, err := l.now(ctx, about, &p)
	if l, ok := lacking(err); ok {
		c.Add(at, "invalid", l.why)
		return nil
	} else if err != nil {
		return err
	}
	if p.Hash != "" && p.Hash != hash {
		c.Add(at+"/hash", "mismatch", "Its hash here differs. Leave the hash out to have it filled in.")
		return nil
	}
	piece["hash"] = hash
	if p.Revision > 0 {
		piece["revision"] = p.Revision
	}
	if kind == "readings" {
		piece["from"], piece["to"], piece["count"] = p.From, p.To, p.Count
	}
	return nil
}

// parse reads a piece of evidence.
func parse(piece any) (p api.ClaimEvidence, err error) {
	raw, err := json.Marshal(piece)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(raw, &p)
}

// Evidence looks up the evidence behind a claim. Fault: CLAIM_NOT_FOUND.
func (s *Service) Evidence(ctx context.Context, claim string) (api.ClaimEvidenceList, error) {
	var c api.Claim
	if err := s.read(ctx, claimPath(claim), &c); err != nil {
		return api.ClaimEvidenceList{}, err
	}
	out := api.ClaimEvidenceList{Claim: c.ID, Items: []api.ClaimEvidence{}}
	if c.Document == nil {
		return out, nil
	}
	l := s.lookup()
	for i, text := range c.Document.Evidence {
		p, err := l.piece(ctx, &c, text)
		if err != nil {
			return out, err
		}
		p.Index = i
		out.Items = append(out.Items, p)
	}
	return out, nil
}

// asSaid is a piece as the document has it. What a lookup finds out is not believed.
func asSaid(text string) (api.ClaimEvidence, bool) {
	p, err := parse(jsontext.Value(text))
	p.State, p.Detail, p.Link, p.Corrections, p.Index = "", "", "", 0, 0
	if p.Type != "readings" {
		p.Count = 0
	}
	return p, err == nil
}

// other is a piece that names nothing here.
func other(text string) api.ClaimEvidence {
	p := api.ClaimEvidence{Type: "other", State: unchecked, Detail: "It names nothing that can be looked up here."}
	if hashed.MatchString(text) {
		p.Hash = text
	}
	return p
}

// piece looks up a piece of a claim for the caller of ctx. It reveals nothing that the
// caller may not read, because a claim may name anything.
func (l *lookup) piece(ctx context.Context, c *api.Claim, text string) (api.ClaimEvidence, error) {
	p, ok := asSaid(text)
	if ok && p.Type == ofCalculation {
		return recalculated(c, p), nil
	}
	about, known := things[p.Type]
	if !ok || !known || p.ID == "" || p.Hash == "" {
		return other(text), nil
	}
	p.Link = fmt.Sprintf(about.path, url.PathEscape(p.ID))
	err := l.allowed(ctx, p.Link)
	if _, refused := lacking(err); refused && !outlives(ctx, l, err, &p) {
		p.Link, p.State, p.Detail = "", unchecked, "It is not there, or your key may not read it."
		return p, nil
	} else if err != nil && !refused {
		return p, err
	}
	return l.compare(ctx, c, about, p)
}

// outlives reports whether something that was removed has left a history that the
// caller may read.
func outlives(ctx context.Context, l *lookup, err error, p *api.ClaimEvidence) bool {
	return fault.KindOf(err) == fault.NotFound && p.Type != "file" && l.allowed(ctx, p.Link+"/history?limit=1") == nil
}

// compare holds what a piece names against its hash.
func (l *lookup) compare(ctx context.Context, c *api.Claim, about thing, p api.ClaimEvidence) (api.ClaimEvidence, error) {
	was := p
	p.State, p.Detail = same, "It is as it was when the claim was submitted."
	hash, err := l.now(ctx, about, &p)
	switch why, ok := lacking(err); {
	case ok:
		p.State, p.Detail, err = why.state, why.why, nil
	case err != nil:
		return p, err
	case hash != was.Hash:
		p.State, p.Detail = changed, "Its content differs from when the claim was submitted."
	}
	p.Hash, p.Revision, p.Count = was.Hash, was.Revision, was.Count
	if p.Type == "readings" {
		p.Link += "/readings?from=" + url.QueryEscape(p.From) + "&to=" + url.QueryEscape(p.To)
		err = l.corrections(outside(ctx), c, &p)
	}
	return p, err
}

// recalculated makes the calculation of a claim again, which stands in its data.
func recalculated(c *api.Claim, p api.ClaimEvidence) api.ClaimEvidence {
	p.State, p.Detail = missing, "The claim has no such calculation in its data."
	asked := calculationOf(c)
	if asked == nil || asked.TraceHash != p.Hash {
		return p
	}
	got, err := emission.Calculate(asked.Asked)
	if err != nil || got.TraceHash != p.Hash {
		p.State, p.Detail = changed, "The calculation does not come out like that."
		return p
	}
	p.State, p.Detail = same, "Calculated again, it comes out the same. The evaluator decides whether the claim's amount agrees with it."
	return p
}

// until ends a list when enough was seen.
func until(enough bool) error {
	if enough {
		return errEnough
	}
	return nil
}

// read reads a path of the API of this process as the caller of ctx; into v, unless it
// is nil. A refusal is a fault with its code.
func (s *Service) read(ctx context.Context, path string, v any) error {
	r, err := http.NewRequestWithContext(web.WithCaller(ctx, web.CallerFrom(ctx)), http.MethodGet, "http://localhost"+path, http.NoBody)
	if err != nil {
		return err
	}
	return s.ask(r, v)
}

// finds asks whether the caller of ctx may read a path; a refusal is a fault.
func (s *Service) finds(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(web.WithCaller(ctx, web.CallerFrom(ctx)), http.MethodHead, "http://localhost"+path, http.NoBody)
	if err != nil {
		return err
	}
	return s.ask(r, nil)
}

// ask is the same for any request.
func (s *Service) ask(r *http.Request, v any) error {
	w, err := web.Answer(s.cfg.Handler(), r, here, maxFile)
	if err != nil {
		return err
	}
	defer func() { _ = w.Body.Close() }() // nothing is left in it
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return err
	}
	if w.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s answers %d", r.URL.Path, w.StatusCode)
	}
	if w.StatusCode >= http.StatusMultipleChoices { // a path that leads elsewhere names nothing
		var problem struct{ Code, Message string }
		_ = json.Unmarshal(text, &problem, json.MatchCaseInsensitiveNames(true)) // without it the status has to do
		return &fault.Error{Kind: kindOf(w.StatusCode), Code: problem.Code, Message: problem.Message}
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

func kindOf(status int) fault.Kind {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return fault.NotFound
	case http.StatusForbidden, http.StatusUnauthorized:
		return fault.Forbidden
	}
	return fault.Conflict
}

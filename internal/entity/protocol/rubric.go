package protocol

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxRubrics is how many bytes of compiled rubrics are kept, about.
const maxRubrics = 16 << 20

// rubrics caches rubrics by the hash of their source. Compiling one takes longer than
// all the rest of an evaluation.
type rubrics struct {
	mu     sync.Mutex
	kept   map[[sha256.Size]byte]*rubric.Rubric
	weight int
}

// compile is rubric.Compile, unless that was done before.
func (k *rubrics) compile(v jsontext.Value, at string, c *fault.Checks) *rubric.Rubric {
	name := sha256.Sum256(v)
	k.mu.Lock()
	r := k.kept[name]
	k.mu.Unlock()
	if r != nil {
		return r
	}
	if r = rubric.Compile(v, at, c); r == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || k.weight+r.Weight() > maxRubrics {
		k.kept, k.weight = map[[sha256.Size]byte]*rubric.Rubric{}, 0
	}
	if k.kept[name] == nil {
		k.kept[name], k.weight = r, k.weight+r.Weight()
	}
	return r
}

// Rubric returns the rubric of a protocol for a type of claims. Faults:
// RUBRIC_NOT_FOUND, and RUBRIC_INVALID for one that was published before rubrics were
// checked.
func (s *Service) Rubric(p *Protocol, kind string) (*rubric.Rubric, error) {
	var types map[string]jsontext.Value
	if v := p.ClaimTypes(); given(v) && json.Unmarshal(v, &types) != nil {
		types = nil // anything but an object has no claim types
	}
	var t claimForm
	if v := types[kind]; v.Kind() == '{' && json.Unmarshal(v, &t) != nil {
		t = claimForm{}
	}
	var c fault.Checks
	r := s.rubrics.compile(t.Verification, "/claimTypes/"+check.Escape(kind)+"/verification", &c)
	if err := c.Err("RUBRIC_INVALID", "The rubric of this version cannot be used. Publish a version with one that works."); err != nil {
		return nil, err
	}
	if r == nil {
		words := "This version names no types of claims. Give a version that does."
		if len(types) > 0 {
			words = "It names these types of claims: " + strings.Join(slices.Sorted(maps.Keys(types)), ", ") + "."
		}
		return nil, fault.New(fault.NotFound, "RUBRIC_NOT_FOUND", "The protocol has no rubric for this type of claims: people decide about them.").
			With(fault.Field{Pointer: "path/kind", Code: "unknown", Detail: words})
	}
	return r, nil
}

// TryRubric applies the rubric of a type of claims to a hypothetical claim, and stores
// nothing. Faults: PROTOCOL_NOT_FOUND, CLAIM_FACTS_INVALID and those of Rubric.
func (s *Service) TryRubric(ctx context.Context, id, version, kind string, trial api.RubricTrial) (*api.RubricDecision, error) {
	p, err := s.FindAny(ctx, web.CallerFrom(ctx).Workspace, id, version)
	if err != nil {
		return nil, err
	}
	r, err := s.Rubric(p, kind)
	if err != nil {
		return nil, err
	}
	facts := map[string]rubric.Known{}
	for name, f := range trial.Facts {
		raw, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		facts[name] = rubric.Known{Value: raw, Confidence: f.Confidence}
	}
	c := trial.Claim
	d, err := r.Decide(rubric.Claim{
		Kind: kind, Subject: c.Subject, Claimant: c.Claimant, Amount: c.Amount, Unit: c.Unit,
		PeriodStart: c.PeriodStart, PeriodEnd: c.PeriodEnd, Evidence: c.Evidence, Submitted: c.Submitted,
	}, facts)
	if err != nil {
		return nil, err
	}
	out := &api.RubricDecision{
		Protocol: p.DID, Version: p.Version, RubricHash: r.Hash(), Outcome: string(d.Outcome), ReasonCode: d.ReasonCode,
		Rule: d.Rule, Amount: d.Amount, Missing: append([]string{}, d.Missing...), Steps: []api.RubricStep{},
	}
	for _, step := range d.Steps {
		out.Steps = append(out.Steps, api.RubricStep(step))
	}
	return out, nil
}

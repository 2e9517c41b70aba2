package protocol

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Get reads a version, of any status; the default one when none is named.
// effective includes everything it inherits. The fault is PROTOCOL_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id, version string, effective bool) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	ws := web.CallerFrom(ctx).Workspace
	if effective {
		p, err := s.FindAny(ctx, ws, id, version)
		if err != nil {
			return none, err
		}
		r := p.Effective()
		return web.Reply[*Record]{Value: &r}, nil
	}
	if shipped().has(id) {
		p := shipped().find(id, version)
		if p == nil {
			return none, notFound()
		}
		return web.Reply[*Record]{Raw: p.body, ETag: web.ETag(p.Revision)}, nil
	}
	r, body, err := read(ctx, s.db, cacheKey{ws, id, version})
	if err != nil {
		return none, err
	}
	return web.Reply[*Record]{Raw: body, ETag: web.ETag(r.Revision)}, nil
}

// Filter narrows a list. Empty members are ignored.
type Filter struct {
	Status Status
	Class  string
	Name   string // part of the name, in any case
}

func (f Filter) fits(r *Record) bool {
	return (f.Status == "" || f.Status == r.Status) && (f.Class == "" || f.Class == r.Class) &&
		(f.Name == "" || strings.Contains(strings.ToLower(r.Name), strings.ToLower(f.Name)))
}

func (f Filter) check() error {
	var c fault.Checks
	check.OneOf(&c, "query/status", string(f.Status), "draft", "published", "deprecated", "retired")
	check.OneOf(&c, "query/class", f.Class, classes()...)
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// spot is where a list continues.
type spot struct {
	Shipped int   `json:"s"` // shipped ones passed
	After   int64 `json:"n"` // row passed
}

// maxExamined is how many rows one page of a filtered list looks at.
const maxExamined = 200

// List reads a page of protocols: the bundled ones, then those of the
// workspace, oldest first. Each is shown in its default version. A page may be
// short; next is nil at the end.
func (s *Service) List(ctx context.Context, f Filter, at spot, limit int) (items []Record, next *spot, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	for ; at.Shipped < len(shipped().list); at.Shipped++ {
		if len(items) == limit {
			return items, &at, nil
		}
		if r := shipped().list[at.Shipped].Record; f.fits(&r) {
			items = append(items, r)
		}
	}
	ws := web.CallerFrom(ctx).Workspace
	examine := min(limit-len(items)+1, maxExamined)
	if f != (Filter{}) {
		examine = maxExamined
	}
	rows, err := list(ctx, s.db, ws, at.After, examine)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if len(items) == limit {
			return items, &at, nil
		}
		at.After = row.nid
		var r Record
		if err := json.Unmarshal(row.body, &r); err != nil {
			return nil, nil, fmt.Errorf("read protocol: %w", err)
		}
		if f.fits(&r) {
			items = append(items, r)
		}
	}
	if len(rows) < examine {
		return items, nil, nil
	}
	return items, &at, nil
}

// VersionInfo is an entry in the list of versions.
type VersionInfo struct {
	Version      string    `json:"version" example:"1.0.0"`
	Status       Status    `json:"status" enum:"draft,published,deprecated,retired"`
	Current      bool      `json:"current,omitzero" doc:"The one that is used when none is named."`
	ContentHash  string    `json:"contentHash"`
	Revision     int64     `json:"revision"`
	Created      time.Time `json:"created,omitzero"`
	CreatedBy    string    `json:"createdBy,omitzero"`
	Published    time.Time `json:"published,omitzero"`
	StatusReason string    `json:"statusReason,omitzero"`
	Links        Links     `json:"links"`
}

func infoOf(r *Record, current bool) VersionInfo {
	return VersionInfo{
		Version: r.Version, Status: r.Status, Current: current, ContentHash: r.ContentHash, Revision: r.Revision, Created: r.Created,
		CreatedBy: r.CreatedBy, Published: r.Published, StatusReason: r.StatusReason, Links: r.Links,
	}
}

// Versions lists the versions of a protocol, newest first; there are at most
// 100. The fault is PROTOCOL_NOT_FOUND.
func (s *Service) Versions(ctx context.Context, id string) ([]VersionInfo, error) {
	if all := shipped().byDID[id]; len(all) > 0 {
		out := make([]VersionInfo, len(all))
		for i, p := range all {
			out[len(all)-1-i] = infoOf(&p.Record, i == len(all)-1)
		}
		return out, nil
	}
	ws := web.CallerFrom(ctx).Workspace
	all, err := steps(ctx, s.db, ws, id)
	if err != nil {
		return nil, err
	}
	best, ok := choose(all)
	if !ok {
		return nil, notFound()
	}
	order.Sort(all, func(a, b step) int { return check.CompareVersions(b.version, a.version) })
	out := make([]VersionInfo, len(all))
	for i, st := range all {
		r, _, err := find(ctx, s.db, ws, id, st.version)
		if err != nil {
			return nil, err
		}
		out[i] = infoOf(r, st.version == best.version)
	}
	return out, nil
}

// Sample describes a twin to check before making it.
type Sample struct {
	Properties    Object     `json:"properties" doc:"As they would be in the twin."`
	Relationships []Relation `json:"relationships,omitzero"`
}

// Relation is a relationship of a sample.
type Relation struct {
	Role   string `json:"role" example:"operator"`
	Target string `json:"target" example:"did:ixo:entity:123"`
}

// Verdict is the result of checking a sample.
type Verdict struct {
	Valid                bool      `json:"valid" doc:"Whether a twin could be made of it."`
	Protocol             string    `json:"protocol"`
	Version              string    `json:"version"`
	Errors               []Problem `json:"errors" doc:"All that is wrong."`
	MissingRelationships []string  `json:"missingRelationships" doc:"Roles that would have to be filled before the twin can be active."`
}

// Problem is one thing that is wrong.
type Problem struct {
	Pointer string `json:"pointer" example:"/properties/metricTwo"`
	Code    string `json:"code" example:"wrong_type"`
	Detail  string `json:"detail" example:"The value must be a number."`
}

// Validate checks a sample and stores nothing. The classes of targets are not
// checked, because they may not exist yet. The fault is PROTOCOL_NOT_FOUND.
func (s *Service) Validate(ctx context.Context, id, version string, sample Sample) (*Verdict, error) {
	p, err := s.FindAny(ctx, web.CallerFrom(ctx).Workspace, id, version)
	if err != nil {
		return nil, err
	}
	var props any
	if err := json.Unmarshal(sample.Properties.Value, &props); err != nil {
		return nil, fault.New(fault.Invalid, "INVALID_PARAMETER", "A number in the properties is too large.").
			With(fault.Field{Pointer: "/properties", Code: "invalid", Detail: "A number in the value is too large."})
	}
	fields := p.Check(props)
	more, missing := p.relate(sample.Relationships)
	fields = append(fields, more...)
	v := &Verdict{Valid: len(fields) == 0, Protocol: p.DID, Version: p.Version, Errors: []Problem{}, MissingRelationships: missing}
	for _, f := range fields[:min(len(fields), schema.MaxErrors)] {
		v.Errors = append(v.Errors, Problem(f))
	}
	return v, nil
}

// relate checks relationships against the roles.
func (p *Protocol) relate(given []Relation) (wrong []fault.Field, missing []string) {
	n := map[string]int{}
	for i, g := range given {
		at := fmt.Sprintf("/relationships/%d", i)
		n[g.Role]++
		r, known := p.Role(g.Role)
		switch {
		case !roleName.MatchString(g.Role):
			wrong = append(wrong, fault.Field{Pointer: at + "/role", Code: "invalid_name", Detail: "A role is a word that begins with a small letter."})
		case known && r.Max > 0 && n[g.Role] > r.Max:
			wrong = append(wrong, fault.Field{Pointer: at, Code: "too_many", Detail: fmt.Sprintf("There may be at most %d relationships of this role.", r.Max)})
		}
		if !did.Valid(g.Target) {
			wrong = append(wrong, fault.Field{Pointer: at + "/target", Code: "invalid", Detail: "The value must be a DID."})
		}
	}
	missing = []string{}
	for _, r := range p.roles {
		if r.RequiredFor == "active" && n[r.Name] < r.Min {
			missing = append(missing, r.Name)
		}
	}
	return wrong, missing
}

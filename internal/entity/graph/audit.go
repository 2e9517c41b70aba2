package graph

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Bounds of one call for invariants. What is past them is for the next call.
const (
	maxAudited    = 2_000    // twins
	maxAuditEdges = 20_000   // edges looked at one twin after the other
	maxAuditWork  = 64 << 20 // bytes of records, and 256 for each earlier revision
	maxViolations = 1_000
	maxAncestors  = 5_000 // twins the search for circles meets for each batch of 100
)

// Violation is a place where the store breaks its promises.
type Violation struct {
	Rule    string `json:"rule" doc:"Which rule is broken." example:"organisation_without_group"`
	Subject string `json:"subject" doc:"DID of the twin at which it shows."`
	Detail  string `json:"detail"`

	nid int64 // of the subject
}

// Report is the result of one call for invariants.
type Report struct {
	OK         bool         `json:"ok" doc:"No rule is broken among the twins of this page."`
	Checked    int          `json:"checked" doc:"How many twins this page has checked."`
	Violations []Violation  `json:"violations"`
	Unproven   []Violation  `json:"unproven,omitzero" doc:"Rules that could not be checked because a bound was reached."`
	Complete   bool         `json:"complete" doc:"The last twin was reached: if every page was ok, the rules hold."`
	Page       web.PageInfo `json:"page"`
}

// auditPlace is where the audit continues: after a twin, or among its edges.
type auditPlace struct {
	Twin int64 `json:"t"`
	Edge int64 `json:"e,omitzero"` // the last one looked at
	In   bool  `json:"i,omitzero"` // among the incoming
	Open bool  `json:"o,omitzero"` // edges of the twin are left
}

// auditBounds holds the limits that tests make small.
type auditBounds struct {
	edges    int // looked at one twin after the other
	together int // of a batch that are read at once
}

// audit is one call.
type audit struct {
	db        *db.DB
	protocols *protocol.Service
	caller    web.Caller
	limit     int
	at        auditPlace
	work      int   // the rest of maxAuditWork
	now       int64 // ms
	auditBounds
	report  Report
	unknown []version // protocols of the batch that are not looked up yet
}

// invariants checks up to limit twins of the caller's workspace after a place,
// and returns the place where the next call continues.
func (s *Service) invariants(ctx context.Context, from auditPlace, limit int) (Report, auditPlace, error) {
	a := &audit{
		db: s.cfg.DB, protocols: s.cfg.Protocols, caller: web.CallerFrom(ctx), limit: limit, at: from, work: maxAuditWork, now: s.cfg.Now().UnixMilli(), auditBounds: s.audit,
		report: Report{Violations: []Violation{}},
	}
	err := a.run(ctx)
	return a.report, a.at, err
}

// run looks at twins, a batch at a time, until a bound or the end is reached.
func (a *audit) run(ctx context.Context) error {
	for !a.report.Complete && a.left() > 0 {
		if err := a.step(ctx); err != nil {
			return err
		}
	}
	a.report.OK = len(a.report.Violations) == 0
	return nil
}

// left is how many twins may still be looked at.
func (a *audit) left() int {
	if a.work <= 0 || a.edges <= 0 || len(a.report.Violations) >= maxViolations {
		return 0
	}
	return a.limit - a.report.Checked
}

// step checks one batch, or more edges of a twin that has many. Everything it
// compares is from one moment, so that concurrent work does not look like
// damage.
func (a *audit) step(ctx context.Context) error {
	ahead, err := versionsAfter(ctx, a.db, a.caller.Workspace, a.at.Twin, a.size())
	if err != nil {
		return err
	}
	known := map[version]*protocol.Protocol{}
	before := *a
	for range surprises {
		if err := a.learn(ctx, known, ahead); err != nil {
			return err
		}
		err := a.db.View(ctx, func(q db.Querier) error {
			*a = before
			a.report.Violations, a.report.Unproven = slices.Clone(before.report.Violations), slices.Clone(before.report.Unproven)
			if a.at.Open {
				return a.resume(ctx, q)
			}
			return a.batch(ctx, q, known)
		})
		if err != nil || len(a.unknown) == 0 {
			return err
		}
		// Meanwhile twins of other protocols were added.
		ahead = a.unknown
	}
	return nil
}

// surprises is how often a batch starts over because twins of other protocols
// were added meanwhile.
const surprises = 4

// version names a version of a protocol.
type version struct{ protocol, version string }

// learn finds protocols of the next batch. That happens before the look at the
// store begins, which must not wait for a second connection.
func (a *audit) learn(ctx context.Context, known map[version]*protocol.Protocol, ahead []version) error {
	for _, v := range ahead {
		if _, ok := known[v]; ok {
			continue
		}
		p, err := a.protocols.FindAny(ctx, a.caller.Workspace, v.protocol, v.version)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
		known[v] = p // nil: there is none
	}
	return nil
}

func (a *audit) size() int { return min(chunk, a.left()) }

// batch looks at the next twins.
func (a *audit) batch(ctx context.Context, q db.Querier, known map[version]*protocol.Protocol) error {
	b := &batch{audit: a, known: known}
	size := a.size()
	n, err := b.read(ctx, q, size)
	if err != nil {
		return err
	}
	for _, rule := range []func(context.Context, db.Querier) error{
		b.history, b.groups, b.parents, b.roles, b.once, b.index,
	} {
		if err := rule(ctx, q); err != nil {
			return err
		}
	}
	a.report.Complete = n < size
	if err := a.joins(ctx, q, b); err != nil {
		return err
	}
	a.report.Checked += len(b.twins)
	return nil
}

// note keeps a broken rule.
func (a *audit) note(t *audited, rule, detail string) {
	a.report.Violations = append(a.report.Violations, Violation{Rule: rule, Subject: t.did, Detail: detail, nid: t.nid})
}

// stop ends the call at a twin whose edges are not all looked at. What was
// found at twins after it will be found again by the next call.
func (a *audit) stop(b *batch, nid int64) {
	b.twins = slices.DeleteFunc(b.twins, func(t *audited) bool { return t.nid > nid })
	later := func(v Violation) bool { return v.nid > nid }
	a.report.Violations, a.report.Unproven = slices.DeleteFunc(a.report.Violations, later), slices.DeleteFunc(a.report.Unproven, later)
	a.report.Complete = false
}

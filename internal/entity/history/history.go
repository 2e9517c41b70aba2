// Package history reads the past of twins: what a twin was at a revision or a
// moment, what changed between two of them, who changed it and why, and whether
// anybody has tampered with it.
//
// The newest revision is the row of the twin itself; earlier ones are in the
// history. Each carries a hash over the one before and its own bytes, so a
// changed or missing revision is detected. It writes nothing.
package history

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. All fields are required.
type Config struct {
	DB       *db.DB
	Entities *entity.Service
	Cursors  web.Cursors
	Key      secret.Key // makes the hashes for callers who do not see all of a twin
}

// Service reads the past of twins. It is safe for many goroutines.
type Service struct{ cfg Config }

// New makes a Service over a migrated store.
func New(cfg Config) *Service { return &Service{cfg: cfg} }

// Types of package api, by their names here.
type (
	Entry = api.Revision
	Links = api.RevisionLinks
)

// view is the past of one twin as a caller sees it.
type view struct {
	hidden []string // personal properties the caller does not see
	key    []byte   // of its hashes
}

// see returns the past of a twin as the caller of ctx sees it.
func (s *Service) see(ctx context.Context, q db.Querier, r *entity.Row) (view, error) {
	hidden, err := s.cfg.Entities.See(ctx).Hidden(ctx, q, r.Protocol, r.Body)
	if err != nil || len(hidden) == 0 {
		return view{}, err
	}
	return view{hidden: hidden, key: s.cfg.Key.Derive("entity history hash")}, nil
}

// hash is the hash of a revision as the caller sees it. Withheld values are
// short, such as a telephone number: with the hash of the record and the rest
// of it anybody could try all possible values.
func (v view) hash(h []byte) string {
	if len(v.hidden) > 0 && len(h) > 0 {
		m := hmac.New(sha256.New, v.key)
		m.Write(h)
		h = m.Sum(nil)
	}
	return hex.EncodeToString(h)
}

// revision is a stored revision. body is nil where it was not read.
type revision struct {
	number int64
	at     int64 // ms
	action string
	actor  string
	req    string
	reason string
	hash   []byte
	erased bool
	body   []byte
}

// newest is the revision the row of a twin holds.
func newest(r *entity.Row) revision {
	return revision{number: r.Revision, at: r.UpdatedAt, action: r.Action, actor: r.Actor, req: r.RequestID, reason: r.Reason, hash: r.Hash, body: r.Body}
}

// entry renders a revision; before is the hash of the one before it.
func (w view) entry(id string, v revision, before []byte) Entry {
	base := "/v1/entities/" + url.PathEscape(id)
	e := Entry{
		Revision: v.number, At: time.UnixMilli(v.at).UTC(), Actor: v.actor, RequestID: v.req, Action: v.action, Reason: v.reason, Erased: v.erased,
		Hash: w.hash(v.hash), PreviousHash: w.hash(before),
		Links: Links{Record: base + "/history/" + strconv.FormatInt(v.number, 10)},
	}
	if v.number > 1 {
		e.Links.Diff = fmt.Sprintf("%s/diff?from=%d&to=%d", base, v.number-1, v.number)
	}
	return e
}

// List returns at most limit revisions of a twin below a number, 0 for the
// first page, newest first. next is where the list continues, 0 at its end.
// Fault: ENTITY_NOT_FOUND.
func (s *Service) List(ctx context.Context, id string, below int64, limit int) (items []Entry, next int64, err error) {
	var all []revision
	var w view
	err = db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		r, err := s.cfg.Entities.Find(ctx, q, id)
		if err != nil {
			return err
		}
		if w, err = s.see(ctx, q, r); err != nil {
			return err
		}
		all = nil
		if below == 0 || below > r.Revision {
			all = append(all, newest(r))
		}
		from := r.Revision
		if below > 0 {
			from = min(below, from)
		}
		earlier, err := list(ctx, q, r.NID, from, limit+1)
		all = append(all, earlier...)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for i, v := range all {
		if i == limit {
			return items, all[limit-1].number, nil
		}
		var before []byte
		if i+1 < len(all) {
			before = all[i+1].hash
		}
		items = append(items, w.entry(id, v, before))
	}
	return items, 0, nil
}

// Revision returns the record of a twin as it was at a revision, as far as the
// caller may see it today. Faults: ENTITY_NOT_FOUND, REVISION_NOT_FOUND,
// REVISION_ERASED.
func (s *Service) Revision(ctx context.Context, id string, number int64) ([]byte, error) {
	var body []byte
	err := db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		r, err := s.cfg.Entities.Find(ctx, q, id)
		if err != nil {
			return err
		}
		w, err := s.see(ctx, q, r)
		if err != nil {
			return err
		}
		v, err := byNumber(ctx, q, r, number)
		if err != nil {
			return err
		}
		body, err = privacy.Without(v.body, w.hidden)
		return err
	})
	return body, err
}

// At returns the record of a twin as it was: at is the number of a revision or
// a time (RFC 3339). Faults: ENTITY_NOT_FOUND for a time before it was made,
// REVISION_NOT_FOUND, REVISION_ERASED, INVALID_PARAMETER.
func At(ctx context.Context, q db.Querier, r *entity.Row, at string) (body []byte, number int64, err error) {
	v, err := when(ctx, q, r, at, "query/at")
	if err != nil {
		return nil, 0, err
	}
	return v.body, v.number, nil
}

// when finds the revision for a number or a time.
func when(ctx context.Context, q db.Querier, r *entity.Row, at, pointer string) (revision, error) {
	if at != "" && strings.Trim(at, "0123456789") == "" {
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return revision{}, noRevision() // more digits than there will ever be revisions
		}
		return byNumber(ctx, q, r, n)
	}
	// A plus sign in a query means a space; in a time a space can only have
	// been a plus.
	t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(at, " ", "+"))
	if err != nil {
		return revision{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: pointer, Code: "invalid", Detail: "The value must be the number of a revision, or a time such as 2026-01-31T08:00:00Z."})
	}
	if t.UnixMilli() >= r.UpdatedAt {
		return newest(r), nil
	}
	return findAt(ctx, q, r.NID, t.UnixMilli())
}

// byNumber finds a revision of a twin.
func byNumber(ctx context.Context, q db.Querier, r *entity.Row, n int64) (revision, error) {
	switch {
	case n == r.Revision:
		return newest(r), nil
	case n < 1 || n > r.Revision:
		return revision{}, noRevision()
	}
	return find(ctx, q, r.NID, n)
}

func noRevision() error {
	return fault.New(fault.NotFound, "REVISION_NOT_FOUND", "The entity has no such revision.")
}

func noEntity() error {
	return fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No entity has this DID at that time.")
}

// maxSteps limits how many revisions a difference lists.
const maxSteps = 100

// Difference is what changed between two revisions.
type Difference struct {
	From      int64   `json:"from"`
	To        int64   `json:"to"`
	Patch     []Op    `json:"patch" doc:"RFC 6902: makes the record at from the record at to."`
	Steps     []Entry `json:"steps" doc:"The revisions in between, oldest first: who, when and why; at most 100."`
	MoreSteps bool    `json:"moreSteps,omitzero" doc:"There are more than are shown."`
}

// Diff returns what changed between two revisions, which are numbers or times;
// by default to is the newest and from the one before it. Faults: those of At.
func (s *Service) Diff(ctx context.Context, id, from, to string) (*Difference, error) {
	var a, b revision
	var steps []revision
	var w view
	err := db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		r, err := s.cfg.Entities.Find(ctx, q, id)
		if err != nil {
			return err
		}
		if w, err = s.see(ctx, q, r); err != nil {
			return err
		}
		if a, b, err = ends(ctx, q, r, from, to); err != nil {
			return err
		}
		steps, err = between(ctx, q, r, min(a.number, b.number), max(a.number, b.number))
		return err
	})
	if err != nil {
		return nil, err
	}
	patch, err := w.patch(a.body, b.body)
	if err != nil {
		return nil, fmt.Errorf("compare revisions %d and %d of %s: %w", a.number, b.number, id, err)
	}
	d := &Difference{From: a.number, To: b.number, Patch: patch, Steps: []Entry{}}
	for i, v := range steps[1:] {
		if i == maxSteps {
			d.MoreSteps = true
			break
		}
		d.Steps = append(d.Steps, w.entry(id, v, steps[i].hash))
	}
	return d, nil
}

// ends finds the two revisions of a diff. One fault names everything in them
// that cannot be read.
func ends(ctx context.Context, q db.Querier, r *entity.Row, from, to string) (a, b revision, err error) {
	if b = newest(r); to != "" {
		b, err = when(ctx, q, r, to, "query/to")
	}
	if from == "" {
		from = strconv.FormatInt(max(1, b.number-1), 10)
	}
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return a, b, err
	}
	a, more := when(ctx, q, r, from, "query/from")
	switch {
	case err == nil:
		return a, b, more
	case fault.KindOf(more) == fault.Invalid:
		return a, b, fault.As(err).With(fault.As(more).Fields...)
	}
	return a, b, err
}

// patch compares two revisions as far as the caller sees them.
func (w view) patch(a, b []byte) ([]Op, error) {
	from, err := privacy.Without(a, w.hidden)
	if err != nil {
		return nil, err
	}
	to, err := privacy.Without(b, w.hidden)
	if err != nil {
		return nil, err
	}
	return makePatch(from, to)
}

// between reads the revisions from one number to another, both included, but no
// more than can be shown.
func between(ctx context.Context, q db.Querier, r *entity.Row, first, last int64) ([]revision, error) {
	steps, err := listUp(ctx, q, stretch{nid: r.NID, first: first, last: min(last, r.Revision-1), limit: maxSteps + 2})
	if err != nil {
		return nil, err
	}
	if last == r.Revision && len(steps) < maxSteps+2 {
		steps = append(steps, newest(r))
	}
	if len(steps) == 0 {
		return nil, noRevision()
	}
	return steps, nil
}

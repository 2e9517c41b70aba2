package erase

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Entities, Protocols, Events and Cursors are
// needed; the zero value of everything else is the sensible default.
type Config struct {
	DB        *db.DB
	Entities  *entity.Service
	Protocols *protocol.Service
	Events    *event.Log
	Cursors   web.Cursors
	Now       func() time.Time
	Personal  privacy.Registry // says what stays, for certificates
	Erasers   []Eraser         // what other parts do to forget a person
	// Companions lists the twins that were made for a person; nil for none. It is
	// called before other parts forget the person.
	Companions func(ctx context.Context, ws, subject string) ([]Companion, error)
	// Certified tells other parts whom a workspace has erased, in the transaction
	// that stores the certificate; it may be nil.
	Certified func(ctx context.Context, tx *db.Tx, ws, subject string) error
	// Condemn makes copies of a workspace's records impossible to find, such as
	// the files of exports, in the transaction that stores the certificate; nil
	// for none.
	Condemn func(ctx context.Context, tx *db.Tx, ws string) error
	// Copies remove those copies, and others that contain one of names, in the
	// background. They report whether something is still in use.
	Copies []func(ctx context.Context, ws string, names []string) (left bool, err error)
	// Names returns other names in records about a person, such as the ids of
	// their responses; nil for none.
	Names func(ctx context.Context, ws, subject string) ([]string, error)
	Log   *slog.Logger // nil: silent
}

// Service erases people. It is safe for many goroutines.
type Service struct {
	cfg      Config
	db       *db.DB
	settling chan struct{} // cap 1: holds the right to settle
	wake     chan struct{} // cap 1: there is something to settle
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Certified == nil {
		cfg.Certified = func(context.Context, *db.Tx, string, string) error { return nil }
	}
	if cfg.Names == nil {
		cfg.Names = func(context.Context, string, string) ([]string, error) { return nil, nil }
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Service{cfg: cfg, db: cfg.DB, settling: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// Erase takes a person or a household out of the store. It needs no right on the
// twin itself: a caller with the scope answers for the workspace. A second call
// finishes what a crash left, erases what was added since, and otherwise returns
// the same certificate again; fresh is false then. Faults: ERASURE_INVALID,
// ENTITY_NOT_FOUND, NOT_PERSONAL, those of entity.MayEnd and of Eraser.May. Copies
// and old bytes are removed in the background, see Settle.
func (s *Service) Erase(ctx context.Context, d Draft) (body []byte, fresh bool, err error) {
	if err := d.Validate(); err != nil {
		return nil, false, err
	}
	return s.erase(ctx, d)
}

func (s *Service) erase(ctx context.Context, d Draft) (body []byte, fresh bool, err error) {
	r, err := s.cfg.Entities.Find(ctx, s.db, d.Subject)
	if fault.CodeOf(err) == "ENTITY_NOT_FOUND" && len(web.CallerFrom(ctx).Projects) == 0 {
		return s.eraseOutside(ctx, d, err)
	} else if err != nil {
		return nil, false, err
	}
	if err := s.checkPersonal(ctx, r); err != nil {
		return nil, false, err
	}
	if err := s.may(ctx, r); err != nil {
		return nil, false, err
	}
	// An erasure that has begun continues when the caller leaves: half of one
	// helps nobody.
	ctx = context.WithoutCancel(ctx)
	counts := map[string]int64{}
	if err := s.blankTwin(ctx, d.Subject); err != nil {
		return nil, false, err
	}
	with, stripped, err := s.companions(ctx, r.Workspace, d)
	if err != nil {
		return nil, false, err
	}
	counts[shared] = stripped
	if counts["relationships"], err = s.endEdges(ctx, r); err != nil {
		return nil, false, err
	}
	if counts["revisions"], err = s.blankPast(ctx, r.NID); err != nil {
		return nil, false, err
	}
	if counts["events"], err = s.cfg.Events.Forget(ctx, r.Workspace, r.DID); err != nil {
		return nil, false, err
	}
	if body, fresh, err = s.certify(ctx, r, d, Certificate{Counts: counts, With: with}); err != nil {
		return nil, false, err
	}
	return body, fresh, nil
}

// eraseOutside makes all parts forget a person or household without a twin
// here, such as a household that only answered surveys. missing is the answer
// when no part knows them.
func (s *Service) eraseOutside(ctx context.Context, d Draft, missing error) (body []byte, fresh bool, err error) {
	ctx = context.WithoutCancel(ctx)
	r := &entity.Row{Workspace: web.CallerFrom(ctx).Workspace, DID: d.Subject}
	if err := s.may(ctx, r); err != nil {
		return nil, false, err
	}
	counts := map[string]int64{}
	with, stripped, err := s.companions(ctx, r.Workspace, d)
	if err != nil {
		return nil, false, err
	}
	counts[shared] = stripped
	if counts["events"], err = s.cfg.Events.Forget(ctx, r.Workspace, r.DID); err != nil {
		return nil, false, err
	}
	if body, fresh, err = s.certify(ctx, r, d, Certificate{Counts: counts, With: with}); err != nil {
		return nil, false, err
	}
	if body == nil {
		return nil, false, missing
	}
	return body, fresh, nil
}

// may asks all parts whether the caller may have a subject forgotten.
func (s *Service) may(ctx context.Context, r *entity.Row) error {
	return s.db.View(ctx, func(q db.Querier) error {
		for _, e := range s.cfg.Erasers {
			if e.May == nil {
				continue
			}
			if err := e.May(ctx, q, r.Workspace, r.DID); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkPersonal refuses twins that are not about people.
func (s *Service) checkPersonal(ctx context.Context, r *entity.Row) error {
	if people(r.DomainType) {
		return nil
	}
	p, err := s.cfg.Protocols.FindAny(ctx, r.Workspace, r.Protocol, r.ProtocolVersion)
	if err != nil {
		return err
	}
	if len(p.PII()) == 0 {
		return fault.New(fault.Unprocessable, "NOT_PERSONAL", "Only households, persons and twins whose protocol has personal properties are erased. Deactivate others.")
	}
	return nil
}

// blankTwin stores a last, empty revision.
func (s *Service) blankTwin(ctx context.Context, subject string) error {
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := s.cfg.Entities.FindForUpdate(ctx, tx, subject)
		if err != nil {
			return err
		}
		e, err := r.Entity()
		if err != nil || isBlank(e) {
			return err
		}
		if e.Status != entity.StatusDeactivated {
			if err := s.cfg.Entities.MayEnd(ctx, tx, r); err != nil {
				return err
			}
		}
		_, err = s.cfg.Entities.Mutate(ctx, tx, r, entity.Action{Name: "erase", Event: "entity.erased"}, func(e *entity.Entity) error {
			blank(e)
			return nil
		})
		return err
	})
}

// edgePage is how many relationships are read at once.
const edgePage = 100

// people reports whether twins of a domain type are people or their homes.
func people(domain string) bool { return domain == "household" || domain == "person" }

// endEdges ends the relationships of a person or a household to others held
// here, and returns how many: they show who lives with whom. Relationships to
// projects and to devices stay.
func (s *Service) endEdges(ctx context.Context, r *entity.Row) (int64, error) {
	if !people(r.DomainType) {
		return 0, nil
	}
	var sum int64
	for _, side := range []relationship.Side{relationship.Out, relationship.In} {
		for after := int64(0); ; {
			list, err := side.List(ctx, s.db, r.NID, after, edgePage)
			if err != nil {
				return 0, err
			}
			for i := range list {
				ended, err := s.endEdge(ctx, r, &list[i])
				if err != nil {
					return 0, err
				}
				if ended {
					sum++
				}
				after = list[i].NID
			}
			if len(list) < edgePage {
				break
			}
		}
	}
	return sum, nil
}

// endEdge ends one relationship, unless it stays.
func (s *Service) endEdge(ctx context.Context, r *entity.Row, l *relationship.Row) (bool, error) {
	far := l.Dst
	if far == r.NID {
		far = l.Src
	}
	if far == 0 {
		return false, nil // not held here: removed with its row
	}
	other, err := relationship.EndByNID(ctx, s.db, r.Workspace, far)
	if err != nil || other == nil || !people(other.DomainType) {
		return false, err
	}
	return s.cfg.Entities.ForgetRelationship(ctx, l)
}

// blankPast blanks every earlier revision and returns how many there were.
func (s *Service) blankPast(ctx context.Context, nid int64) (int64, error) {
	var sum int64
	for after := int64(0); ; {
		var last, changed int64
		err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
			last, changed, err = blankHistory(ctx, tx, nid, after)
			return err
		})
		if err != nil {
			return 0, err
		}
		sum += changed
		if last == 0 {
			return sum, nil
		}
		after = last
	}
}

// shared is the count of companions that stayed for others.
const shared = "shared household"

// certify makes all other parts forget the subject and writes the certificate,
// which begins with what was erased so far. It returns the last one when there
// was nothing to do.
func (s *Service) certify(ctx context.Context, r *entity.Row, d Draft, begun Certificate) (body []byte, fresh bool, err error) {
	now := s.cfg.Now().UTC().Truncate(time.Millisecond)
	nid := s.db.NewNID()
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		// Whoever erases the same subject in the same moment waits here.
		if r.NID != 0 {
			if _, err := s.cfg.Entities.FindForUpdate(ctx, tx, r.DID); err != nil {
				return err
			}
		}
		all := maps.Clone(begun.Counts)
		if err := s.forget(ctx, tx, r, all); err != nil {
			return err
		}
		var sum int64
		for _, n := range all {
			sum += n
		}
		last, doneAt, err := findLast(ctx, tx, r.Workspace, r.DID)
		if err != nil {
			return err
		}
		if fresh = last == nil || sum > 0; !fresh || r.NID == 0 && sum == 0 {
			body, fresh = s.show(last, doneAt), false
			return nil
		}
		stays, err := s.stays(r, all, last)
		if err != nil {
			return err
		}
		body, err = web.Encode(Certificate{
			ID: idOf(nid), Subject: r.DID, ErasedAt: now, By: web.CallerFrom(ctx).DID, Reason: d.Reason, With: begun.With, Counts: all, Stays: stays,
		})
		if err != nil {
			return err
		}
		if err := insert(ctx, tx, row{ws: r.Workspace, nid: nid, at: now.UnixMilli(), subject: r.DID, body: body}); err != nil {
			return err
		}
		if s.cfg.Condemn != nil {
			if err := s.cfg.Condemn(ctx, tx, r.Workspace); err != nil {
				return err
			}
		}
		body = s.show(body, 0)
		tx.AfterCommit(s.nudge)
		return s.cfg.Certified(ctx, tx, r.Workspace, r.DID)
	})
	if err != nil {
		return nil, false, err
	}
	return body, fresh, nil
}

// stays lists what is kept. A part keeps something if it has erased something,
// now or for last, the certificate before this one.
func (s *Service) stays(r *entity.Row, counts map[string]int64, last []byte) ([]string, error) {
	var before Certificate
	if last != nil {
		if err := json.Unmarshal(last, &before); err != nil {
			return nil, err
		}
	}
	return s.cfg.Personal.Stays(func(part, sentence string) bool {
		switch part {
		case privacy.Twin:
			return r.NID != 0
		case privacy.Person:
			return r.NID != 0 && people(r.DomainType)
		case privacy.Thing:
			return r.NID != 0 && !people(r.DomainType)
		}
		return counts[part]+before.Counts[part] > 0 || slices.Contains(before.Stays, sentence)
	}), nil
}

// forget removes the subject from everything but its own revisions.
func (s *Service) forget(ctx context.Context, tx *db.Tx, r *entity.Row, counts map[string]int64) error {
	var err error
	if r.NID != 0 { // 0 means any twin that is not held here
		if err := blankNewest(ctx, tx, r.NID); err != nil {
			return err
		}
		n, err := blankRelationships(ctx, tx, r.NID)
		if err != nil {
			return err
		}
		counts["relationships"] += n
	}
	for _, e := range s.cfg.Erasers {
		if counts[e.Name], err = e.Erase(ctx, tx, r.Workspace, r.DID); err != nil {
			return err
		}
	}
	return nil
}

// Get reads a certificate. Faults: ERASURE_NOT_FOUND, KEY_RESTRICTED.
func (s *Service) Get(ctx context.Context, id string) ([]byte, error) {
	c := web.CallerFrom(ctx)
	if err := whole(c); err != nil {
		return nil, err
	}
	body, doneAt, err := find(ctx, s.db, c.Workspace, parseID(id))
	return s.show(body, doneAt), err
}

// List returns at most limit certificates after a number, oldest first, and the
// number to continue from, 0 at the end. The fault is KEY_RESTRICTED.
func (s *Service) List(ctx context.Context, after int64, limit int) ([]Certificate, int64, error) {
	c := web.CallerFrom(ctx)
	if err := whole(c); err != nil {
		return nil, 0, err
	}
	rows, err := list(ctx, s.db, c.Workspace, after, limit+1)
	if err != nil {
		return nil, 0, err
	}
	var next int64
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].nid
	}
	out := make([]Certificate, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.body, &out[i]); err != nil {
			return nil, 0, err
		}
		out[i].Bytes = s.bytes(r.doneAt)
	}
	return out, next, nil
}

// whole refuses callers limited to some projects: erasures concern the whole
// workspace.
func whole(c web.Caller) error {
	if len(c.Projects) == 0 {
		return nil
	}
	return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; erasures cover the whole workspace.")
}

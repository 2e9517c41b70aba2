package bulk

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// dryPage is how many twins a dry run looks at between two looks at its lease.
const dryPage = 500

// migrationJob is what a migration was asked for, with all that was left open
// settled.
type migrationJob struct {
	Protocol string `json:"protocol"`
	MigrationDraft
}

// migrationState is where a migration continues.
type migrationState struct {
	Place  *entity.Place `json:"place"`
	Counts Counts        `json:"counts"`
	Ended  bool          `json:"ended"`
}

// runMigration is the job of a migration.
func (s *Service) runMigration(ctx context.Context, r *job.Run) error {
	m := &migrator{s: s, run: r, pace: newPace(s.db)}
	if _, err := s.cfg.Exchange.Of(ctx, r, &m.p, &struct{}{}); err != nil {
		return err
	}
	if _, err := r.State(&m.st); err != nil {
		return err
	}
	target, err := s.target(ctx, &m.p)
	if err != nil {
		return permanent(err)
	}
	m.target = target
	if m.st.Place == nil && m.st.Counts.Total == 0 {
		if err := m.count(ctx); err != nil {
			return permanent(err)
		}
	}
	for !m.st.Ended {
		if err := m.page(ctx); err != nil {
			return permanent(err)
		}
	}
	m.st.Counts.end(r, "migrations")
	return nil
}

// target is the version twins are taken to. Nothing is stored in a draft, but a
// dry run shows who would fit it before it is published for good.
func (s *Service) target(ctx context.Context, p *migrationJob) (*protocol.Protocol, error) {
	ws := web.CallerFrom(ctx).Workspace
	if p.DryRun && p.To != "" {
		return s.cfg.Protocols.FindAny(ctx, ws, p.Protocol, p.To)
	}
	return s.cfg.Protocols.Find(ctx, ws, p.Protocol, p.To)
}

// permanent marks refusals: another attempt cannot mend them.
func permanent(err error) error {
	if exchange.Refusal(err) != nil {
		return job.Permanent(err)
	}
	return err
}

// migrator is one run of a migration.
type migrator struct {
	s      *Service
	run    *job.Run
	pace   *pace
	p      migrationJob
	target *protocol.Protocol
	st     migrationState
}

// count finds out how many twins there are to look at.
func (m *migrator) count(ctx context.Context) error {
	q := entity.Query{Protocol: m.p.Protocol, Filter: m.p.Filter, Sort: "created", Limit: dryPage}
	for {
		found, err := m.s.cfg.Search.List(ctx, m.s.db, q)
		if err != nil {
			return err
		}
		for _, r := range found.Rows {
			if m.asked(r) {
				m.st.Counts.Total++
			}
		}
		if q.After = found.Next; q.After == nil {
			return nil
		}
		m.pace.Rest(ctx)
	}
}

// asked reports whether a twin is one the migration is for.
func (m *migrator) asked(r *entity.Row) bool {
	return r.ProtocolVersion != m.p.To && (m.p.From == "" || r.ProtocolVersion == m.p.From)
}

// page migrates the twins of the next page.
func (m *migrator) page(ctx context.Context) error {
	q := entity.Query{Protocol: m.p.Protocol, Filter: m.p.Filter, Sort: "created", Limit: ChunkRows, After: m.st.Place}
	if m.p.DryRun {
		q.Limit = dryPage
	}
	found, err := m.s.cfg.Search.List(ctx, m.s.db, q)
	if err != nil {
		return err
	}
	var steps []step
	var nids []int64
	for _, r := range found.Rows {
		st, err := m.step(ctx, r)
		if err != nil {
			return err
		}
		if st.Done != nil || st.Run != nil {
			steps, nids = append(steps, st), append(nids, r.NID)
		}
	}
	out, err := storeChunk(ctx, m.s.db, chunk{Steps: steps, Pace: m.pace, Seal: func(ctx context.Context, tx *db.Tx, out []outcome, first int) error {
		return m.seal(ctx, tx, out, first, m.after(out, nids, found.Next))
	}})
	if err != nil {
		return err
	}
	m.st = m.after(out, nids, found.Next)
	m.run.Progress(m.st.Counts.Done, m.st.Counts.Total, m.note())
	return nil
}

func (m *migrator) note() string {
	if m.p.DryRun {
		return "checking"
	}
	return "migrating"
}

// after is the state once some twins of a page are stored, the ones with the
// first of nids. next is where the list continues after all.
func (m *migrator) after(out []outcome, nids []int64, next *entity.Place) migrationState {
	st := m.st
	for _, o := range out {
		st.Counts.add(o)
	}
	if len(out) == len(nids) {
		st.Place, st.Ended = next, next == nil
	} else {
		st.Place = &entity.Place{NID: nids[len(out)-1]}
	}
	return st
}

// seal keeps the report and the place. A dry run keeps rows of those that do
// not fit only: it may look at a great many.
func (m *migrator) seal(ctx context.Context, tx *db.Tx, out []outcome, first int, st migrationState) error {
	if err := m.run.Save(ctx, tx, st); err != nil {
		return err
	}
	var rows []exchange.Row
	line := st.Counts.Done - int64(len(out)-first)
	for _, o := range out[first:] {
		line++
		if m.p.DryRun && o.Err == nil {
			continue
		}
		row, err := resultRow(line, o, false)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if err := exchange.InsertRows(ctx, tx, m.run.ID, rows); err != nil {
		return err
	}
	if err := exchange.SaveCounts(ctx, tx, m.run.ID, st.Counts); err != nil {
		return err
	}
	if !st.Ended || m.p.DryRun {
		return nil
	}
	return m.s.cfg.Events.Append(ctx, tx, event.Event{
		Type: "protocol.migrated", Subject: m.p.Protocol,
		Data: map[string]any{"migration": m.run.ID, "to": m.p.To, "migrated": st.Counts.Migrated, "refused": st.Counts.Refused},
	})
}

// step is what to do with a twin; an empty one when it is not asked for.
func (m *migrator) step(ctx context.Context, r *entity.Row) (step, error) {
	if !m.asked(r) {
		return step{}, nil
	}
	known := func(o outcome) (step, error) {
		o.DID, o.Revision = r.DID, r.Revision
		return step{Done: &o}, nil
	}
	if m.p.From == "" && check.CompareVersions(r.ProtocolVersion, m.p.To) > 0 || r.Status == entity.StatusDeactivated {
		return known(outcome{Action: skipped})
	}
	err := m.check(ctx, m.s.db, r)
	if f := exchange.Refusal(err); f != nil {
		return known(outcome{Action: refused, Err: f})
	} else if err != nil {
		return step{}, err
	}
	if m.p.DryRun {
		return known(outcome{Action: migrated})
	}
	return step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) { return m.migrate(ctx, tx, r.DID) }}, nil
}

// check reports whether a twin can be migrated by the caller.
func (m *migrator) check(ctx context.Context, q db.Querier, r *entity.Row) error {
	if err := m.may(ctx, q, r); err != nil {
		return err
	}
	return m.s.cfg.Entities.Try(ctx, q, r, m.change)
}

// may requires the right to change a twin. A caller who may take it over may
// migrate it as well.
func (m *migrator) may(ctx context.Context, q db.Querier, r *entity.Row) error {
	if !web.CallerFrom(ctx).May("entities:transfer") {
		return m.s.cfg.Entities.MayUpdate(ctx, q, r)
	}
	// Nobody gives what they may not see another name.
	hidden, err := m.s.cfg.Entities.See(ctx).Hidden(ctx, q, r.Protocol, r.Body)
	if err == nil && len(hidden) > 0 {
		return mask.Missing()
	}
	return err
}

// change takes a record to the target version.
func (m *migrator) change(e *entity.Entity) error {
	props, err := m.p.properties(m.target, e)
	if err != nil {
		return err
	}
	e.Properties, e.ProtocolVersion = props, m.p.To
	return nil
}

// migrate stores one twin in the target version.
func (m *migrator) migrate(ctx context.Context, tx *db.Tx, id string) (outcome, error) {
	o := outcome{DID: id, Action: unchanged}
	r, err := m.s.cfg.Entities.FindForUpdate(ctx, tx, id)
	if err != nil || r.ProtocolVersion == m.p.To {
		return o, err
	}
	if r.Status == entity.StatusDeactivated {
		o.Action = skipped
		return o, nil
	}
	if err := m.may(ctx, tx, r); err != nil {
		return o, err
	}
	act := entity.Action{Name: "migrate", Reason: m.p.Reason, Data: map[string]any{"from": r.ProtocolVersion, "to": m.p.To, "migration": m.run.ID}}
	next, err := m.s.cfg.Entities.Mutate(ctx, tx, r, act, m.change)
	if err != nil {
		return o, err
	}
	return outcome{DID: id, Revision: next.Revision, Action: migrated, Bytes: len(next.Body)}, nil
}

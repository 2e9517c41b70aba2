package bulk

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/chunk"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/report"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/version"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// dryPage is how many twins a dry run looks at between two looks at its lease.
const dryPage = 500

// MigrationDraft is what a migration is made from.
type MigrationDraft struct {
	From     string            `json:"from,omitzero" doc:"Only twins of this version; of all older ones without it."`
	To       string            `json:"to,omitzero" doc:"Version twins are taken to; the newest published one by default." example:"1.0.0"`
	DryRun   bool              `json:"dryRun,omitzero" doc:"Check every twin and change none."`
	Filter   string            `json:"filter,omitzero" doc:"Only these twins; as in the list of twins."`
	Rename   map[string]string `json:"rename,omitzero" doc:"Properties that have another name in the target: old → new, at most 100."`
	Defaults entity.Object     `json:"defaults,omitzero" doc:"Values for properties a twin does not have, at most 100."`
	Reason   string            `json:"reason,omitzero" doc:"Why, for the history; at most 500 characters."`
}

// migrationJob is what a migration was asked for, with all that was left open
// settled.
type migrationJob struct {
	Protocol string `json:"protocol"`
	MigrationDraft
}

// validate holds a draft against the target version.
func (d *MigrationDraft) validate(target *protocol.Protocol) error {
	var c fault.Checks
	if len(d.Rename) > maxRenames {
		c.Add("/rename", "too_many", fmt.Sprintf("At most %d properties are renamed.", maxRenames))
	}
	defaults, err := d.defaults()
	if err != nil {
		c.Add("/defaults", "wrong_type", "The value must be an object.")
	}
	if len(defaults) > maxRenames {
		c.Add("/defaults", "too_many", fmt.Sprintf("At most %d defaults are given.", maxRenames))
	}
	if len([]rune(d.Reason)) > 500 {
		c.Add("/reason", "too_long", "At most 500 characters are accepted.")
	}
	if d.From != "" && d.From == target.Version {
		c.Add("/from", "invalid", "Twins of the target version are where they are to go.")
	}
	taken := map[string]bool{}
	for _, old := range sortedKeys(d.Rename) {
		name := d.Rename[old]
		switch {
		case target.Kind(name) == "" && !target.Open():
			c.Add("/rename/"+escape(old), "unknown_property", "The target does not declare this property.")
		case taken[name]:
			c.Add("/rename/"+escape(old), "duplicate", "Another property gets this name.")
		}
		taken[name] = true
	}
	for _, name := range sortedKeys(defaults) {
		if target.Kind(name) == "" && !target.Open() {
			c.Add("/defaults/"+escape(name), "unknown_property", "The target does not declare this property.")
		}
	}
	return c.Err("MIGRATION_INVALID", "The migration is not valid.")
}

// defaults are the values for properties a twin does not have.
func (d *MigrationDraft) defaults() (map[string]jsontext.Value, error) {
	var m map[string]jsontext.Value
	if d.Defaults.IsZero() {
		return nil, nil
	}
	err := json.Unmarshal(d.Defaults.Value, &m)
	return m, err
}

// change is the merge patch that takes properties to the target. A property
// that would take the place of another is a fault.
func (d *MigrationDraft) change(props map[string]jsontext.Value) (map[string]jsontext.Value, error) {
	patch := map[string]jsontext.Value{}
	var c fault.Checks
	for _, old := range sortedKeys(d.Rename) {
		v, has := props[old]
		if !has {
			continue
		}
		name := d.Rename[old]
		if _, there := props[name]; there && d.Rename[name] == "" {
			c.Add("/properties/"+escape(name), "exists", "The twin has both the old property and the new one.")
			continue
		}
		if _, set := patch[old]; !set {
			patch[old] = jsontext.Value("null")
		}
		patch[name] = v
	}
	defaults, err := d.defaults()
	if err != nil {
		return nil, fmt.Errorf("read defaults: %w", err)
	}
	for name, v := range defaults {
		_, there := props[name]
		if set, ok := patch[name]; ok && string(set) != "null" || there && !ok {
			continue
		}
		patch[name] = v
	}
	return patch, c.Err("PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.")
}

// properties are those of a record in the target version. The fault names all
// that does not fit.
func (d *MigrationDraft) properties(target *protocol.Protocol, e *entity.Entity) (entity.Object, error) {
	var props map[string]jsontext.Value
	if err := json.Unmarshal(e.Properties.Value, &props); err != nil {
		return entity.Object{}, fmt.Errorf("read properties of %s: %w", e.DID, err)
	}
	patch, err := d.change(props)
	if err != nil {
		return entity.Object{}, err
	}
	next := []byte(e.Properties.Value)
	if len(patch) > 0 {
		text, err := web.Encode(patch)
		if err != nil {
			return entity.Object{}, err
		}
		if next, err = web.MergePatch(next, text); err != nil {
			return entity.Object{}, err
		}
	}
	var values any
	if err := json.Unmarshal(next, &values); err != nil {
		return entity.Object{}, fmt.Errorf("read properties of %s: %w", e.DID, err)
	}
	if fields := target.Check(values); len(fields) > 0 {
		return entity.Object{}, fault.New(fault.Invalid, "PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.").With(fields...)
	}
	if !target.Fits(e.Type) {
		return entity.Object{}, fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").
			With(fault.Field{Pointer: "/type", Code: "not_applicable", Detail: "The protocol is not for twins of this type."})
	}
	return entity.Object{Value: jsontext.Value(next)}, nil
}

// migrationState is where a migration goes on.
type migrationState struct {
	Place  *search.Place `json:"place"`
	Counts Counts        `json:"counts"`
	Ended  bool          `json:"ended"`
}

// runMigration is the job of a migration.
func (s *Service) runMigration(ctx context.Context, r *job.Run) error {
	t, err := s.mine(ctx, r)
	if err != nil {
		return err
	}
	m := &migrator{s: s, run: r, pace: chunk.NewPace(s.db)}
	if err := decodeJSON(t.settings, &m.p); err != nil {
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
	r.SetResult(reported{m.st.Counts, reportLinks("migrations", r.ID)})
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
	if chunk.Refusal(err) != nil {
		return job.Permanent(err)
	}
	return err
}

// migrator is one run of a migration.
type migrator struct {
	s      *Service
	run    *job.Run
	pace   *chunk.Pace
	p      migrationJob
	target *protocol.Protocol
	st     migrationState
}

// count finds out how many twins there are to look at.
func (m *migrator) count(ctx context.Context) error {
	q := search.Query{Protocol: m.p.Protocol, Filter: m.p.Filter, Sort: "created", Limit: dryPage}
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

// asked tells whether a twin is one the migration is for.
func (m *migrator) asked(r *entity.Row) bool {
	return r.ProtocolVersion != m.p.To && (m.p.From == "" || r.ProtocolVersion == m.p.From)
}

// page migrates the twins of the next page.
func (m *migrator) page(ctx context.Context) error {
	q := search.Query{Protocol: m.p.Protocol, Filter: m.p.Filter, Sort: "created", Limit: chunk.Rows, After: m.st.Place}
	if m.p.DryRun {
		q.Limit = dryPage
	}
	found, err := m.s.cfg.Search.List(ctx, m.s.db, q)
	if err != nil {
		return err
	}
	var steps []chunk.Step
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
	out, err := chunk.Store(ctx, m.s.db, chunk.Chunk{Steps: steps, Pace: m.pace, Seal: func(ctx context.Context, tx *db.Tx, out []chunk.Outcome, first int) error {
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
// first of nids. next is where the list goes on after all.
func (m *migrator) after(out []chunk.Outcome, nids []int64, next *search.Place) migrationState {
	st := m.st
	for _, o := range out {
		st.Counts.add(o)
	}
	if len(out) == len(nids) {
		st.Place, st.Ended = next, next == nil
	} else {
		st.Place = &search.Place{NID: nids[len(out)-1]}
	}
	return st
}

// seal keeps the report and the place. A dry run keeps rows of those that do
// not fit only: it may look at a great many.
func (m *migrator) seal(ctx context.Context, tx *db.Tx, out []chunk.Outcome, first int, st migrationState) error {
	if err := m.run.Save(ctx, tx, st); err != nil {
		return err
	}
	var rows []report.Row
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
	if err := report.Insert(ctx, tx, m.run.ID, rows); err != nil {
		return err
	}
	if err := saveCounts(ctx, tx, m.run.ID, st.Counts); err != nil {
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
func (m *migrator) step(ctx context.Context, r *entity.Row) (chunk.Step, error) {
	if !m.asked(r) {
		return chunk.Step{}, nil
	}
	known := func(o chunk.Outcome) (chunk.Step, error) {
		o.DID, o.Revision = r.DID, r.Revision
		return chunk.Step{Done: &o}, nil
	}
	if m.p.From == "" && version.Newer(r.ProtocolVersion, m.p.To) || r.Status == entity.StatusDeactivated {
		return known(chunk.Outcome{Action: chunk.Skipped})
	}
	err := m.check(ctx, m.s.db, r)
	if f := chunk.Refusal(err); f != nil {
		return known(chunk.Outcome{Action: chunk.Refused, Err: f})
	} else if err != nil {
		return chunk.Step{}, err
	}
	if m.p.DryRun {
		return known(chunk.Outcome{Action: chunk.Migrated})
	}
	return chunk.Step{Run: func(ctx context.Context, tx *db.Tx) (chunk.Outcome, error) { return m.migrate(ctx, tx, r.DID) }}, nil
}

// check tells whether a twin can be migrated by the caller.
func (m *migrator) check(ctx context.Context, q db.Querier, r *entity.Row) error {
	if err := m.may(ctx, q, r); err != nil {
		return err
	}
	return m.s.cfg.Entities.Try(ctx, q, r, m.change)
}

// may wants the right to change a twin. Who may take it over may migrate it as
// well.
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
func (m *migrator) migrate(ctx context.Context, tx *db.Tx, id string) (chunk.Outcome, error) {
	o := chunk.Outcome{DID: id, Action: chunk.Unchanged}
	r, err := m.s.cfg.Entities.FindForUpdate(ctx, tx, id)
	if err != nil || r.ProtocolVersion == m.p.To {
		return o, err
	}
	if r.Status == entity.StatusDeactivated {
		o.Action = chunk.Skipped
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
	return chunk.Outcome{DID: id, Revision: next.Revision, Action: chunk.Migrated, Bytes: len(next.Body)}, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

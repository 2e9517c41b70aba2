package claim

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	kindSimulate = "claim.simulate"

	// Past claims of a kind in the order of their numbers, with their newest evaluation,
	// and with their documents only if a rule uses their content.
	listPast = `SELECT c.nid, c.did, c.project, c.kind, c.subject_did, c.claimant, c.starts, c.ends, c.amount, c.unit, c.submitted_at, CASE WHEN $7 = 1 THEN c.document ELSE '' END, c.facts, c.collection,
		COALESCE(e.outcome, ''), COALESCE(e.reason_code, ''), COALESCE(e.amount, 0)
		FROM claims c LEFT JOIN claim_evaluations e ON e.nid = (SELECT MAX(n.nid) FROM claim_evaluations n WHERE n.claim = c.nid)
		WHERE c.ws = $1 AND c.kind = $2 AND c.nid > $3 AND c.nid <= $4 AND c.status <> 'withdrawn' AND (c.protocol = $5 OR $5 = '') ORDER BY c.nid LIMIT $6`
	countPast = `SELECT COUNT(*), COALESCE(MAX(nid), 0) FROM claims WHERE ws = $1 AND kind = $2`
	// The spellings of the kind that claims have, one step of the index each.
	listSpelled = `WITH RECURSIVE step(kind) AS (
		SELECT MIN(kind) FROM claims WHERE ws = $1
		UNION ALL SELECT (SELECT MIN(c.kind) FROM claims c WHERE c.ws = $1 AND c.kind > step.kind) FROM step WHERE step.kind IS NOT NULL)
		SELECT kind FROM step WHERE kind IS NOT NULL`

	simulated    = 500    // claims read at once
	saveEvery    = 10     // pages that differ in little
	saveRows     = 100    // differences that wait to be stored
	maxDiffering = 10_000 // differences in a report at most

	notEvaluated = "not_evaluated"
)

// simulation is what was asked for.
type simulation struct {
	Kind         string         `json:"kind"`
	Protocol     string         `json:"protocol,omitzero"` // whose claims; "" for those of all
	Version      string         `json:"version,omitzero"`
	Verification jsontext.Value `json:"verification,omitzero"`
	Project      string         `json:"project,omitzero"`
	Collection   int64          `json:"collection,omitzero"`
	Hash         string         `json:"hash"`
}

// simulationState is how far a run has come.
type simulationState struct {
	Kinds                   []string // spellings of the kind whose claims are not all read yet
	After, Top, Done, Total int64
	Rows                    int64
	Counts                  api.ClaimSimulationCounts
	Ended                   bool
}

// past is a claim as it was decided.
type past struct {
	row
	was rubric.Decision
}

func (p *past) scan(from db.Row) error {
	return from.Scan(&p.nid, &p.did, &p.project, &p.kind, &p.subjectDID, &p.claimant, &p.starts, &p.ends, &p.amount, &p.unit, &p.submitted, &p.body, &p.facts, &p.collection,
		&p.was.Outcome, &p.was.ReasonCode, &p.was.Amount)
}

// Simulations tries rubrics on claims that were submitted.
type Simulations struct {
	cfg Config
	db  *db.DB
}

// NewSimulations makes the Simulations for the claims of a Service.
func NewSimulations(s *Service) *Simulations { return &Simulations{s.cfg, s.db} }

// Create enqueues a job that asks a rubric about submitted claims, and compares. It
// changes none of them. Faults: SIMULATION_INVALID, RUBRIC_INVALID, RUBRIC_NOT_FOUND,
// PROTOCOL_NOT_FOUND, SCOPE_MISSING.
func (s *Simulations) Create(ctx context.Context, d api.ClaimSimulationDraft) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	if err := exchange.MayAll(ctx, string(readScope)); err != nil {
		return none, err
	}
	in, err := s.simulation(ctx, d)
	if err != nil {
		return none, err
	}
	rules, err := s.rules(ctx, in)
	if err != nil {
		return none, err
	}
	in.Hash = rules.Hash()
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[job.Job], error) {
		return s.cfg.Exchange.Begin(ctx, tx, exchange.Order{Kind: kindSimulate, Path: simulationsPath + "/{id}"}, in)
	})
}

// simulation checks the request, and fills in what it left open.
func (s *Simulations) simulation(ctx context.Context, d api.ClaimSimulationDraft) (simulation, error) {
	out := simulation{Kind: d.Kind, Protocol: d.Protocol, Version: d.Version, Project: d.Project}
	var c fault.Checks
	c.Require(d.Kind != "", "/kind")
	for at, id := range map[string]string{"/protocol": d.Protocol, "/projectId": d.Project} {
		if id != "" {
			check.DID(&c, at, id)
		}
	}
	if d.Collection != "" {
		var err error
		if out.Collection, err = numberOf(d.Collection); err != nil {
			c.Add("/collection", "invalid", "The value must be the id of a collection.")
		}
	}
	switch {
	case d.Verification == nil && d.Protocol == "":
		c.Add("/verification", "required", "Give the rubric here, or name the protocol that has one.")
	case d.Verification != nil && d.Version != "":
		c.Add("/version", "conflict", "Give the rubric here, or name a version that has one.")
	}
	if err := c.Err("SIMULATION_INVALID", "The simulation is not valid."); err != nil {
		return out, err
	}
	if d.Verification != nil {
		raw, err := canonical(d.Verification)
		if err != nil {
			return out, err
		}
		out.Verification = raw
	}
	if d.Protocol == "" {
		return out, nil
	}
	p, err := s.cfg.Ledger.Protocols.FindAny(ctx, web.CallerFrom(ctx).Workspace, d.Protocol, d.Version)
	if err != nil {
		return out, protocol.At(err, "/protocol", d.Protocol, d.Version)
	}
	out.Protocol, out.Kind = p.DID, protocol.SpellClaimType(p.ClaimTypes(), d.Kind)
	if d.Verification == nil {
		out.Version = p.Version
	}
	return out, nil
}

// rules compiles the rules of a simulation.
func (s *Simulations) rules(ctx context.Context, in simulation) (*rubric.Rubric, error) {
	if len(in.Verification) == 0 {
		p, err := s.cfg.Ledger.Protocols.FindAny(ctx, web.CallerFrom(ctx).Workspace, in.Protocol, in.Version)
		if err != nil {
			return nil, err
		}
		out, err := s.cfg.Ledger.Protocols.Rubric(p, in.Kind)
		if fault.CodeOf(err) == "RUBRIC_NOT_FOUND" {
			err = check.Moved(err, "path/kind", "/kind")
		}
		return out, err
	}
	var c fault.Checks
	out := rubric.Compile(in.Verification, "/verification", &c)
	if out == nil && c.OK() {
		c.Require(false, "/verification/rubric")
	}
	return out, c.Err("SIMULATION_INVALID", "The rubric cannot be used.")
}

// Handlers runs the jobs of this type, by kind.
func (s *Simulations) Handlers() map[string]job.Handler {
	return map[string]job.Handler{kindSimulate: s.do}
}

// simulator is one run of a simulation.
type simulator struct {
	s     *Simulations
	run   *job.Run
	in    simulation
	rules *rubric.Rubric
	known map[string]bool // facts that the rules may ask about
	whole int             // 1: the rules use the content of documents
	st    simulationState
	cells map[[2]string]*api.SimulatedOutcome
	rows  []exchange.Row // not stored yet
}

func (s *Simulations) do(ctx context.Context, r *job.Run) error {
	m := &simulator{s: s, run: r, known: map[string]bool{}, cells: map[[2]string]*api.SimulatedOutcome{}}
	if _, err := s.cfg.Exchange.Of(ctx, r, &m.in, &struct{}{}); err != nil {
		return err
	}
	began, err := r.State(&m.st)
	if err != nil {
		return err
	}
	if m.rules, err = s.rules(ctx, m.in); err != nil {
		return job.Permanent(err)
	}
	for _, f := range m.rules.Facts() {
		m.known[f.ID] = true
	}
	if m.rules.AsksForEvidence() {
		m.whole = 1
	}
	for i := range m.st.Counts.Outcomes {
		o := &m.st.Counts.Outcomes[i]
		m.cells[[2]string{o.Before, o.After}] = o
	}
	if !began {
		if err := m.begin(ctx); err != nil {
			return err
		}
	}
	if len(m.st.Kinds) == 0 {
		m.st.Kinds = []string{m.in.Kind}
	}
	for pages := 1; !m.st.Ended; pages++ {
		if err := m.page(ctx); err != nil {
			return err
		}
		if m.st.Ended || len(m.rows) >= saveRows || pages%saveEvery == 0 {
			if err := m.save(ctx); err != nil {
				return err
			}
		}
	}
	r.Progress(m.st.Total, m.st.Total, "")
	r.SetResult(api.ClaimSimulationResult{ClaimSimulationCounts: m.counts(), Links: simulationLinks(r.ID)})
	return nil
}

// begin counts the claims of the kind, in any letter case, as when claims are
// submitted.
func (m *simulator) begin(ctx context.Context) error {
	ws := web.CallerFrom(ctx).Workspace
	rows, err := m.s.db.Query(ctx, listSpelled, ws)
	all, err := db.Collect(rows, err, "list kinds of claims", db.Column[string])
	if err != nil {
		return err
	}
	for _, kind := range all {
		if !strings.EqualFold(kind, m.in.Kind) {
			continue
		}
		var n, top int64
		if err := m.s.db.QueryRow(ctx, countPast, ws, kind).Scan(&n, &top); err != nil {
			return db.Wrap("count claims", err)
		}
		m.st.Kinds, m.st.Total, m.st.Top = append(m.st.Kinds, kind), m.st.Total+n, max(m.st.Top, top)
	}
	return nil
}

// page asks the rubric about the next claims.
func (m *simulator) page(ctx context.Context) error {
	c := web.CallerFrom(ctx)
	rows, err := m.s.db.Query(ctx, listPast, c.Workspace, m.st.Kinds[0], m.st.After, m.st.Top, m.in.Protocol, simulated, m.whole)
	n := 0
	err = db.Each(rows, err, "read past claims", func(from db.Row) error {
		var p past
		if err := p.scan(from); err != nil {
			return err
		}
		n++
		m.st.After = p.nid
		if !sees(c, p.project) || m.in.Project != "" && m.in.Project != p.project || m.in.Collection != 0 && m.in.Collection != p.collection {
			return nil
		}
		return m.compare(&p)
	})
	if err != nil {
		return err
	}
	m.st.Done += int64(n)
	if n < simulated {
		m.st.Kinds, m.st.After = m.st.Kinds[1:], 0
		m.st.Ended = len(m.st.Kinds) == 0
	}
	m.run.Progress(m.st.Done, max(m.st.Total, m.st.Done), "deciding")
	return nil
}

// compare asks the rubric about a claim and counts the outcome.
func (m *simulator) compare(p *past) error {
	known, err := p.known()
	if err != nil {
		return err
	}
	maps.DeleteFunc(known, func(name string, _ rubric.Known) bool { return !m.known[name] }) // nobody would have been asked for it
	claim := p.bare()
	if m.whole == 1 {
		if claim, err = p.claim(); err != nil {
			return err
		}
	}
	now, err := m.rules.Decide(claim, known)
	if f := fault.As(err); f != nil { // such a fact would not have been taken
		now = rubric.Decision{Outcome: rubric.Manual, ReasonCode: f.Code}
	} else if err != nil {
		return err
	}
	before := cmp.Or(string(p.was.Outcome), notEvaluated)
	cell := m.cells[[2]string{before, string(now.Outcome)}]
	if cell == nil {
		cell = &api.SimulatedOutcome{Before: before, After: string(now.Outcome)}
		m.cells[[2]string{before, string(now.Outcome)}] = cell
	}
	cell.Claims++
	m.st.Counts.Claims++
	if before == notEvaluated || now.Outcome == p.was.Outcome && (now.Outcome == rubric.Manual || rubric.SameAmount(p.was.Amount, now.Amount)) {
		return nil
	}
	cell.Changed++
	if m.st.Counts.Changed++; m.st.Counts.Changed > maxDiffering {
		return nil
	}
	m.st.Rows++
	data, err := web.Encode(api.SimulatedClaim{
		Line: m.st.Rows, Claim: p.did, Before: before, BeforeReason: p.was.ReasonCode, BeforeAmount: p.was.Amount,
		After: string(now.Outcome), AfterReason: now.ReasonCode, AfterRule: now.Rule, AfterAmount: now.Amount,
	})
	m.rows = append(m.rows, exchange.Row{Line: m.st.Rows, OK: true, Data: string(data)})
	return err
}

// counts returns the counts so far, in the order of the outcomes.
func (m *simulator) counts() api.ClaimSimulationCounts {
	out := m.st.Counts
	out.Outcomes = []api.SimulatedOutcome{}
	for _, cell := range m.cells {
		out.Outcomes = append(out.Outcomes, *cell)
	}
	order.Sort(out.Outcomes, func(a, b api.SimulatedOutcome) int {
		return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
	out.Listed = m.st.Rows
	return out
}

// save keeps the report so far and the position where another attempt
// continues.
func (m *simulator) save(ctx context.Context) error {
	st := m.st
	st.Counts = m.counts()
	err := m.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := m.run.Save(ctx, tx, st); err != nil {
			return err
		}
		if err := exchange.InsertRows(ctx, tx, m.run.ID, m.rows); err != nil {
			return err
		}
		return exchange.SaveCounts(ctx, tx, m.run.ID, st.Counts)
	})
	m.rows = m.rows[:0]
	return err
}

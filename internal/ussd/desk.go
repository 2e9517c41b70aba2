package ussd

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// visitsShown is how far back counts of nodes are summed.
const visitsShown = 30 * 24 * time.Hour

// DeskConfig configures a Desk. Sessions and Cursors are needed.
type DeskConfig struct {
	Sessions  *Service
	Simulator *Simulator // nil has no calls
	Known     menu.Known // what packs may name
	Cursors   web.Cursors
}

// Desk shows the line to its staff: its menu with what happens at each node,
// and past calls. It is safe for many goroutines.
type Desk struct {
	cfg DeskConfig

	mu     sync.Mutex
	linted linted
}

// linted caches the findings of lint about the current pack, which take a while
// to compute.
type linted struct {
	version  string
	findings []menu.Finding
}

// NewDesk makes a Desk.
func NewDesk(c DeskConfig) *Desk { return &Desk{cfg: c} }

// Menu returns the pack in use, in a language it speaks or its default one. The
// fault is INVALID_PARAMETER.
func (d *Desk) Menu(ctx context.Context, lang string) (*api.Menu, error) {
	s := d.cfg.Sessions
	p := s.cfg.Packs.Current()
	if lang != "" && !p.Speaks(lang) {
		var c fault.Checks
		c.Add("query/lang", "unknown", "The menu speaks "+strings.Join(p.Languages, ", ")+".")
		return nil, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
	}
	since := s.now().Add(-visitsShown)
	counted, err := visitsOf(ctx, s.db, p.Name, since)
	if err != nil {
		return nil, err
	}
	s.tally.waiting(p.Name, counted)
	out := outline(p, lang, d.lint(p))
	out.Since = since.UTC().Format(dayForm)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		c := counted[n.ID]
		n.Visits, n.Refused, n.Dropped = c.visits, c.refused, c.dropped
	}
	return out, nil
}

func (d *Desk) lint(p *menu.Pack) []menu.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.linted.version != p.Version {
		d.linted = linted{p.Version, menu.Lint(p, menu.LintOptions{})}
	}
	return d.linted.findings
}

// outline is a pack as a graph with its findings.
func outline(p *menu.Pack, lang string, findings []menu.Finding) *api.Menu {
	if lang == "" {
		lang = p.Default()
	}
	out := &api.Menu{Pack: p.Name, Version: p.Version, Languages: slices.Clone(p.Languages), Language: lang, Start: p.Start, Findings: []api.MenuFinding{}}
	by := map[string][]api.MenuFinding{}
	for _, f := range findings {
		if f.Level == menu.LevelError {
			out.Errors++
		} else {
			out.Warnings++
		}
		if p.Node(f.Node) == nil {
			out.Findings = append(out.Findings, finding(f))
			continue
		}
		by[f.Node] = append(by[f.Node], finding(f))
	}
	for _, s := range p.Outline(lang) {
		n := api.MenuNode{
			ID: s.ID, State: s.State, Kind: string(s.Kind), Text: s.Label, Secret: s.Secret, Depth: s.Depth, Ways: []api.MenuWay{},
			Findings: slices.Concat([]api.MenuFinding{}, by[s.ID]),
		}
		for _, w := range s.Ways {
			n.Ways = append(n.Ways, api.MenuWay{Key: w.Key, To: w.To, Back: w.Back, Label: w.Label})
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

func finding(f menu.Finding) api.MenuFinding {
	text := f.Text
	if f.Node != "" {
		text = f.Node + ": " + text
	}
	return api.MenuFinding{Level: string(f.Level), Language: f.Lang, Text: text, Line: f.Line}
}

// Check checks a pack that is not in use.
func (d *Desk) Check(source string) *api.MenuCheck {
	r := menu.Review("menu", []byte(source), d.cfg.Known, menu.LintOptions{})
	out := &api.MenuCheck{OK: r.Pack != nil, Problems: []api.MenuProblem{}, Findings: []api.MenuFinding{}}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, api.MenuProblem{Line: p.Line, Column: p.Column, Path: p.Path, Text: p.Text})
	}
	for _, f := range r.Findings {
		out.OK = out.OK && f.Level != menu.LevelError
		out.Findings = append(out.Findings, finding(f))
	}
	if r.Pack != nil {
		out.Menu = outline(r.Pack, "", r.Findings)
	}
	return out
}

// line returns the line whose calls are asked for, and a function to call when it
// is no longer used; nil when there is none.
func (d *Desk) line(simulated bool) (*Service, func()) {
	if !simulated {
		return d.cfg.Sessions, func() {}
	}
	if d.cfg.Simulator == nil {
		return nil, nil
	}
	l, done := d.cfg.Simulator.there()
	if l == nil {
		return nil, nil
	}
	return l.Sessions, done
}

// Calls lists calls that are over, the newest first, from a place on.
func (d *Desk) calls(ctx context.Context, f walkFilter, simulated bool, after walkPlace, limit int) ([]api.Call, *walkPlace, error) {
	s, done := d.line(simulated)
	if s == nil {
		return nil, nil, nil
	}
	defer done()
	f.since = max(f.since, kept(s.now()))
	list, err := listOfWalks(ctx, s.db, f, after, limit+1)
	if err != nil {
		return nil, nil, err
	}
	var next *walkPlace
	if len(list) > limit {
		list = list[:limit]
		next = &walkPlace{list[limit-1].ended, list[limit-1].id}
	}
	out, pii := make([]api.Call, len(list)), web.CallerFrom(ctx).May(scopePII)
	for i := range list {
		out[i] = list[i].view(simulated, pii || simulated)
	}
	return out, next, nil
}

// call reads one call with its steps. The fault is CALL_NOT_FOUND.
func (d *Desk) call(ctx context.Context, id string) (*api.Call, error) {
	w, simulated, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	open := simulated || web.CallerFrom(ctx).May(scopePII)
	out, all := w.view(simulated, open), turns(w.steps)
	out.Steps = []api.CallStep{}
	for i, s := range stops(w.steps) {
		step := api.CallStep{Input: s.typed, Node: s.node, AfterMs: s.after.Milliseconds(), Ms: millis(s.took)}
		if hidden := !open && !plainKey(s.typed); hidden || all[i].Mask != "" {
			step.Input, step.Masked = dots, true
			if all[i].Mask == "" {
				all[i].Input, all[i].Mask = "", "text"
			}
		}
		out.Steps = append(out.Steps, step)
	}
	out.Dialog = string(dialog.Saved{Title: "saved call", Gateway: w.gateway, Code: w.code, Turns: all}.Text())
	return &out, nil
}

// find finds a call on the line or on the simulated one.
func (d *Desk) find(ctx context.Context, id string) (*walked, bool, error) {
	w, err := findWalk(ctx, d.cfg.Sessions.db, id, kept(d.cfg.Sessions.now()))
	if fault.KindOf(err) != fault.NotFound {
		return w, false, err
	}
	s, done := d.line(true)
	if s == nil {
		return nil, false, err
	}
	defer done()
	w, err = findWalk(ctx, s.db, id, kept(s.now()))
	return w, true, err
}

// plainKey reports whether an input can be nothing but a key of a menu.
func plainKey(typed string) bool { return len(typed) <= 2 }

// view is a call as it may be shown.
func (w *walked) view(simulated, open bool) api.Call {
	out := api.Call{
		ID: w.id, SessionID: w.session, PhoneNumber: w.phone, Gateway: w.gateway, ServiceCode: w.code, Menu: w.pack, Language: w.lang, Node: w.node,
		Ending: w.ending, Simulated: simulated, StartedAt: time.UnixMilli(w.started).UTC(), EndedAt: time.UnixMilli(w.ended).UTC(),
	}
	if len(w.steps) > 0 {
		out.Inputs = int(w.steps[0]&^timed) - 1
	}
	if !open {
		out.PhoneNumber, out.Withheld = maskPhone(w.phone), true
	}
	return out
}

// maskPhone leaves of a number how it begins and ends.
func maskPhone(phone string) string {
	if len(phone) < 8 {
		return dots
	}
	return phone[:4] + dots + phone[len(phone)-2:]
}

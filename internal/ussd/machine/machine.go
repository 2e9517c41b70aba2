package machine

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// maxActions is how many actions may follow one another without a screen: a
// pack that goes round in circles must not hold a step for ever.
const maxActions = 8

// ErrGone means that a state is at a node that its pack does not have.
var ErrGone = errors.New("the pack has no such node")

// Machine walks packs. The zero value uses the limits of each pack.
type Machine struct {
	Limits menu.Limits // of a gateway, where they are smaller than the pack's
}

// Start begins a session and returns its first screen: the pack's first, or its
// resume node when s.Kept names a node to continue at. The language of s is
// kept if the pack speaks it.
func (m *Machine) Start(p *menu.Pack, s State, run Runner) (State, Screen, error) {
	s.Pack, s.Version, s.Page, s.Step, s.Done = p.Name, p.Version, 0, 0, false
	if !p.Speaks(s.Lang) {
		s.Lang = p.Default()
	}
	to := p.Start
	if kept := p.Node(s.Kept); p.Resume != "" && kept != nil && kept.Kind() != menu.KindDo {
		to = p.Resume
	} else {
		s.Kept = ""
	}
	w := walk{m: m, p: p, s: s, run: run}
	scr, err := w.enter(to)
	return w.s, scr, err
}

// Input takes what the caller typed. A session that is done stays done and
// shows nothing new.
func (m *Machine) Input(p *menu.Pack, s State, input string, run Runner) (State, Screen, error) {
	n := p.Node(s.Node)
	if n == nil {
		return s, Screen{}, fmt.Errorf("node %q of pack %s: %w", s.Node, p.Name, ErrGone)
	}
	w := walk{m: m, p: p, s: s, run: run}
	if s.Done {
		return s, w.show(n), nil
	}
	w.s.Step++
	scr, err := w.take(n, strings.TrimSpace(input))
	return w.s, scr, err
}

// LogOut takes a session whose login no longer counts back to the first screen,
// with a notice above it. The caller's data is forgotten, and what was typed
// for another screen is ignored.
func (m *Machine) LogOut(p *menu.Pack, s State, notice string, run Runner) (State, Screen, error) {
	s.Account, s.Proof, s.Kept, s.Vars, s.Secrets, s.Page = "", "", "", nil, nil, 0
	s.Step++
	w := walk{m: m, p: p, s: s, run: run, notice: notice}
	scr, err := w.enter(p.Start)
	return w.s, scr, err
}

// walk is one step at work.
type walk struct {
	m      *Machine
	p      *menu.Pack
	s      State
	run    Runner
	notice string
	// Maps of the state that was given are the caller's until copied.
	ownVars, ownSecrets bool
}

func (w *walk) view() menu.View {
	return menu.View{
		Lang: w.s.Lang, Caller: w.s.Caller, Limits: w.m.Limits, Vars: w.s.Vars, Authenticated: w.s.Account != "",
		Draft: w.s.Kept != "", Notice: w.notice, Page: w.s.Page,
	}
}

// take finds out what an input means on n. Keys of the node come first, then
// those of the machine.
func (w *walk) take(n *menu.Node, in string) (Screen, error) {
	kind := n.Kind()
	if kind == menu.KindMenu {
		in = word(in)
	}
	if to, ok := n.Keys[in]; ok {
		return w.follow(n, to)
	}
	v := w.view()
	if kind == menu.KindMenu && in != "" {
		if o := n.Option(&v, in); o != nil {
			return w.choose(n, o)
		}
		if row := n.Row(&v, in); row != nil {
			for name, value := range row {
				w.set(name, value)
			}
			return w.follow(n, n.List.To)
		}
	}
	switch {
	case in == "":
		return w.again(n), nil
	case in == menu.KeyMore && w.turn(n):
		return w.show(n), nil
	case in == menu.KeyBack && n.Back != "":
		return w.follow(n, n.Back)
	case in == menu.KeyExit && n.Exit:
		return w.leave(), nil
	case kind == menu.KindInput:
		return w.answer(n, in)
	case n.Any != "":
		return w.follow(n, n.Any)
	}
	return w.again(n), nil
}

// turn goes to the next page of n, if it has several. The last one is followed
// by the first.
func (w *walk) turn(n *menu.Node) bool {
	w.notice = w.s.Notice
	v := w.view()
	shown := n.Render(&v)
	// On the last page of a question the key is not shown: it may be the answer.
	if last := shown.Page == shown.Pages-1; shown.Pages <= 1 || last && n.Kind() == menu.KindInput {
		w.notice = ""
		return false
	}
	w.s.Page = shown.Page + 1
	return true
}

// word converts words that people type for keys of a menu into those keys.
func word(in string) string {
	switch {
	case strings.EqualFold(in, "back"):
		return menu.KeyBack
	case strings.EqualFold(in, "exit"), strings.EqualFold(in, "cancel"):
		return menu.KeyExit
	}
	return in
}

// again shows n with a hint, for an input it cannot take.
func (w *walk) again(n *menu.Node) Screen {
	v := w.view()
	hint := w.p.Navigation.Invalid
	if n.Input != nil && len(n.Input.Error) > 0 {
		hint = n.Input.Error
	}
	w.notice, w.s.Page = w.p.Fill(hint, &v), 0 // where the hint is
	scr := w.show(n)
	scr.Refused = true
	return scr
}

func (w *walk) choose(n *menu.Node, o *menu.Option) (Screen, error) {
	for name, value := range o.Set {
		w.set(name, value)
	}
	return w.follow(n, o.To)
}

// answer stores what was typed at an input and continues.
func (w *walk) answer(n *menu.Node, in string) (Screen, error) {
	q := n.Input
	if q.Skip != nil && in == q.Skip.Key {
		w.drop(q.Name)
		return w.follow(n, n.To)
	}
	value, ok := Check(q.Check, in)
	if !ok {
		return w.again(n), nil
	}
	if q.Secret {
		w.setSecret(q.Name, value)
	} else {
		w.set(q.Name, value)
	}
	return w.follow(n, n.To)
}

// leave ends the session at the caller's wish.
func (w *walk) leave() Screen {
	v := w.view()
	shown := w.p.Goodbye(&v)
	scr := Screen{Text: shown.Text, Units: shown.Units, End: true, Node: w.s.Node}
	if n := w.p.Node(w.s.Node); n != nil {
		scr.State = n.State
	}
	w.end()
	return scr
}

func (w *walk) end() {
	w.s.Done, w.s.Secrets = true, nil
}

// follow goes from n to a target. Whoever leaves the resume node for anything
// but the kept walk starts again with nothing known.
func (w *walk) follow(n *menu.Node, to string) (Screen, error) {
	switch {
	case to == menu.Draft && w.s.Kept != "":
		if kept := w.p.Node(w.s.Kept); kept != nil && kept.Login {
			to = w.p.Login // the walk continues after it, see takeUp
			v := w.view()
			w.notice = w.p.Fill(w.p.LoginSay, &v)
			break
		}
		to, w.s.Kept = w.s.Kept, ""
	case to == menu.Draft:
		to = w.p.Start
	case w.s.Kept != "" && n.ID == w.p.Resume && to != w.p.Resume:
		w.s.Kept, w.s.Vars, w.ownVars = "", nil, false
	}
	return w.enter(to)
}

// enter shows a node, after the actions on the way to one that has a screen.
func (w *walk) enter(to string) (Screen, error) {
	for range maxActions + 1 {
		n := w.p.Node(to)
		if n == nil {
			return Screen{}, fmt.Errorf("node %q of pack %s: %w", to, w.p.Name, ErrGone)
		}
		if n.Do == "" {
			w.s.Node, w.s.Page = n.ID, 0
			if n.Draft && n.ID != w.p.Resume {
				w.s.Kept = "" // another walk is under way
			}
			return w.show(n), nil
		}
		next, err := w.act(n)
		if err != nil {
			return Screen{}, err
		}
		to = next
	}
	return Screen{}, fmt.Errorf("more than %d actions in a row before node %q of pack %s", maxActions, to, w.p.Name)
}

// act runs the action of n and gives the node its result leads to.
func (w *walk) act(n *menu.Node) (string, error) {
	v := w.view()
	if n.Do == menu.Decide {
		target := n.Results[n.Decided(&v)]
		if len(target.Say) > 0 {
			w.notice = w.p.Fill(target.Say, &v)
		}
		return target.To, nil
	}
	if w.run == nil {
		return "", fmt.Errorf("node %q of pack %s: nobody runs actions", n.ID, w.p.Name)
	}
	res, err := w.run(Call{Action: n.Do, With: n.Arguments(&v), Answer: n.Answer, Vars: w.s.Vars, Secrets: w.s.Secrets, Lang: w.s.Lang, Default: w.p.Default(), Account: w.s.Account})
	if err != nil {
		return "", err
	}
	target, ok := n.Results[res.Name]
	if !ok {
		return "", fmt.Errorf("node %q of pack %s: action %s gave the result %q, which leads nowhere", n.ID, w.p.Name, n.Do, res.Name)
	}
	for name, value := range res.Set {
		w.set(name, value)
		if value == "" {
			w.setSecret(name, "") // values that were answered in secret are removed the same way
		}
	}
	if res.Account != nil {
		if w.s.Account != "" && w.s.Account != *res.Account { // phones are shared
			for _, name := range w.p.Answers() {
				w.drop(name)
			}
		}
		w.s.Account, w.s.Proof = *res.Account, res.Proof
	}
	if res.Lang != "" {
		w.set(menu.Language, res.Lang)
	}
	if len(target.Say) > 0 {
		v = w.view()
		w.notice = w.p.Fill(target.Say, &v)
	}
	for _, name := range n.Clear {
		w.drop(name)
		w.setSecret(name, "")
	}
	to := target.To
	if to == menu.Draft {
		to = w.p.Start
	}
	if res.Account != nil && *res.Account != "" && w.s.Kept != "" {
		return w.takeUp(to)
	}
	return to, nil
}

// takeUp continues the kept walk of the customer who has just logged in. Any other
// customer gets to where the login leads. The data of that walk is restored only
// now: before the login the caller could be anybody.
func (w *walk) takeUp(otherwise string) (string, error) {
	kept := w.s.Kept
	w.s.Kept = ""
	res, err := w.run(Call{Action: menu.Draft, With: map[string]string{"node": kept}, Lang: w.s.Lang, Default: w.p.Default(), Account: w.s.Account})
	if err != nil {
		return otherwise, err
	}
	if res.Name != Taken {
		v := w.view()
		w.notice = strings.Trim(w.notice+"\n"+w.p.Fill(w.p.Navigation.NotKept, &v), "\n")
		return otherwise, nil
	}
	for name, value := range res.Set {
		if _, known := w.s.Vars[name]; !known {
			w.set(name, value)
		}
	}
	return kept, nil
}

// show renders n for the state.
func (w *walk) show(n *menu.Node) Screen {
	v := w.view()
	shown := n.Render(&v)
	w.s.Page, w.s.Notice = shown.Page, ""
	if shown.Pages > 1 {
		w.s.Notice = w.notice
	}
	if n.End {
		w.end()
	}
	return Screen{Text: shown.Text, Units: shown.Units, End: n.End, Node: n.ID, State: n.State}
}

// set sets a variable; "" removes it. The language changes only to one that the
// pack speaks.
func (w *walk) set(name, value string) {
	if name == menu.Language {
		if w.p.Speaks(value) {
			w.s.Lang = value
		}
		return
	}
	if value == "" {
		w.drop(name)
		return
	}
	w.s.Vars, w.ownVars = own(w.s.Vars, w.ownVars)
	w.s.Vars[name] = value
}

func (w *walk) drop(name string) {
	if _, known := w.s.Vars[name]; known {
		w.s.Vars, w.ownVars = own(w.s.Vars, w.ownVars)
		delete(w.s.Vars, name)
	}
}

func (w *walk) setSecret(name, value string) {
	_, known := w.s.Secrets[name]
	if value == "" && !known {
		return
	}
	w.s.Secrets, w.ownSecrets = own(w.s.Secrets, w.ownSecrets)
	if value == "" {
		delete(w.s.Secrets, name)
		return
	}
	w.s.Secrets[name] = value
}

// own gives a map that the walk may change.
func own(m map[string]string, mine bool) (map[string]string, bool) {
	switch {
	case m == nil:
		return make(map[string]string, 2), true
	case mine:
		return m, true
	}
	return maps.Clone(m), true
}

// Draftable reports whether the walk at s is kept when the call drops: the node says
// so for logged-in callers, or for others. The next caller with this number may be
// another person, so what a customer does after a login is kept only where it
// continues after another login.
func Draftable(p *menu.Pack, s *State) bool {
	n := p.Node(s.Node)
	return n != nil && n.Draft && n.Login == (s.Account != "") && !s.Done && s.Kept == ""
}

package machine_test

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

var results = map[string][]string{"send": {"queued", "off"}, "join": {"ok", "weak"}, "login": {"ok", "wrong"}, "order": {"ok"}}

func pack(t *testing.T, oldnew ...string) *menu.Pack {
	t.Helper()
	data, err := os.ReadFile("../testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := machine.Known(nil)
	known.Actions, known.Vars = results, []string{"count", "who"}
	p, err := menu.Parse("small.yaml", []byte(strings.NewReplacer(oldnew...).Replace(string(data))), known)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run is the actions: they do nothing but answer.
func run(c machine.Call) (machine.Result, error) {
	account := "acc"
	switch {
	case c.Action == "send" && c.Arg("topic") != "reading":
		return machine.Result{}, errors.New("the constant argument is missing")
	case c.Action == "send":
		return machine.Result{Name: "queued", Set: map[string]string{"count": "7"}}, nil
	case c.Action == "join" && c.Secrets["pin"] == "11111":
		return machine.Result{Name: "weak"}, nil
	case c.Action == "login" && c.Secrets["pin"] == "48213":
		return machine.Result{Name: "ok", Account: &account, Set: map[string]string{"who": "Asha"}, Lang: "sw"}, nil
	case c.Action == "login":
		return machine.Result{Name: "wrong"}, nil
	}
	return machine.Result{Name: "ok"}, nil
}

// TestWalk types inputs one after the other; the last screen is looked at.
func TestWalk(t *testing.T) {
	t.Parallel()
	p := pack(t)
	for _, tt := range []struct {
		name, inputs, node, begins string
		end, refused               bool
	}{
		{name: "start", node: "home", begins: "Welcome to Small\n1. Read\n2. Join\n3. Log in\n5. Close\n9. Kiswahili\n*. Exit"},
		{name: "option", inputs: "1", node: "read", begins: "This text is longer"},
		{name: "no option", inputs: "8", node: "home", begins: "Choose a number shown.\nWelcome", refused: true},
		{name: "hidden option", inputs: "4", node: "home", begins: "Choose a number shown.\nWelcome", refused: true},
		{name: "blank", inputs: " ", node: "home", begins: "Choose a number shown.\nWelcome", refused: true},
		{name: "back", inputs: "1,0", node: "home", begins: "Welcome"},
		{name: "back by word", inputs: "1,BACK", node: "home", begins: "Welcome"},
		{name: "no way back", inputs: "0", node: "home", begins: "Choose", refused: true},
		{name: "exit", inputs: "*", node: "home", begins: "Goodbye.", end: true},
		{name: "exit by word", inputs: "cancel", node: "home", begins: "Goodbye.", end: true},
		{name: "exit from an input", inputs: "2,*", node: "join.name", begins: "Goodbye.", end: true},
		{name: "words are text in an input", inputs: "2,Exit", node: "join.town", begins: "Exit, your town?\n00. Skip\n0. Back\n*. Exit"},
		{name: "after the end", inputs: "5,1,2", node: "closed", begins: "Closed.", end: true},
		{name: "second page", inputs: "1,98", node: "read", begins: "some time until"},
		{name: "round the pages", inputs: "1,98,98,98", node: "read", begins: "This text is longer"},
		{name: "option of another page", inputs: "1,98,98,1", node: "read.sent", begins: "Sent 7 so far.\n0. Back\n*. Exit"},
		{name: "no pages", inputs: "98", node: "home", begins: "Choose", refused: true},
		{name: "hint on the first page", inputs: "1,98,8", node: "read", begins: "Choose a number shown.\nThis text", refused: true},
		{name: "pages with a hint", inputs: "1,8,98,98,98", node: "read", begins: "Choose a number shown.\nThis text"},
		{name: "language", inputs: "9", node: "home", begins: "Karibu Ndogo\n1. Soma"},
		{name: "input", inputs: "2, Zoë  O'Neil-Ba ", node: "join.town", begins: "Zoë O'Neil-Ba, your town?"},
		{name: "refused input", inputs: "2,R2D2", node: "join.name", begins: "A name has letters.\nYour name?", refused: true},
		{name: "skipped input", inputs: "2,Jane,00", node: "join.pin", begins: "Choose a PIN"},
		{name: "result with a notice", inputs: "2,Jane,00,11111", node: "join.pin", begins: "Too easy to guess.\nChoose a PIN"},
		{name: "action", inputs: "2,Jane,00,48213", node: "join.done", begins: "Thank you, Jane.\n1. Menu\n*. Exit"},
		{name: "wrong PIN", inputs: "3,0000", node: "login.pin", begins: "Wrong PIN.\nYour PIN?"},
		{name: "log in", inputs: "3,48213", node: "home", begins: "Habari Asha.\nKaribu Ndogo\n1. Soma\n2. Jiunge\n3. Ingia\n4. Agiza Asha\n9."},
		{name: "guarded option", inputs: "3,48213,4", node: "order", begins: "Ngapi, Asha?"},
		{name: "out of range", inputs: "3,48213,4,31", node: "order", begins: "Kuanzia 1 hadi 30.", refused: true},
		{name: "end node", inputs: "3,48213,4,007", node: "order.done", begins: "Umeagiza 7. Kwaheri.", end: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &machine.Machine{}
			s, scr, err := m.Start(p, machine.State{}, run)
			for _, in := range strings.Split(tt.inputs, ",") {
				if tt.inputs != "" && err == nil {
					s, scr, err = m.Input(p, s, in, run)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if scr.Node != tt.node || s.Node != tt.node || !strings.HasPrefix(scr.Text, tt.begins) || scr.End != tt.end || s.Done != tt.end || scr.Refused != tt.refused {
				t.Errorf("screen = %+v, want %q at %s, end %v, refused %v", scr, tt.begins, tt.node, tt.end, tt.refused)
			}
			if n, _ := menu.Units(scr.Text); n != scr.Units || n > 182 {
				t.Errorf("units = %d, want %d, at most 182", scr.Units, n)
			}
			if s.Done && len(s.Secrets) > 0 {
				t.Errorf("secrets after the end = %v, want none", s.Secrets)
			}
		})
	}
}

// TestInputKeepsTheState it was given: callers may take the step again.
func TestInputKeepsTheState(t *testing.T) {
	t.Parallel()
	p, m := pack(t), &machine.Machine{}
	s := machine.State{Node: "join.town", Lang: "en", Vars: map[string]string{"name": "Jane"}, Secrets: map[string]string{"pin": "1"}}
	vars, secrets := maps.Clone(s.Vars), maps.Clone(s.Secrets)
	next, _, err := m.Input(p, s, "Kisumu", run)
	if err != nil || next.Vars["town"] != "Kisumu" {
		t.Fatalf("Input() = %+v, %v", next, err)
	}
	if next, _, err = m.Input(p, next, "48213", run); err != nil || next.Secrets["pin"] != "" {
		t.Errorf("after the action = %+v, %v; want the PIN cleared", next, err)
	}
	if !maps.Equal(s.Vars, vars) || !maps.Equal(s.Secrets, secrets) {
		t.Errorf("the given state = %+v, want it unchanged", s)
	}
}

// TestKept asks whether to go on with a walk.
func TestKept(t *testing.T) {
	t.Parallel()
	p, m := pack(t), &machine.Machine{}
	kept := machine.State{Kept: "join.town", Lang: "sw", Vars: map[string]string{"name": "Jane"}}
	for _, tt := range []struct {
		name   string
		from   machine.State
		inputs []string
		node   string
		vars   int
		begins string
	}{
		{"ask", kept, nil, "resume", 1, "Endelea ulipoishia?\n1. Endelea\n2. Anza upya\n*. Toka"},
		{"wrong key", kept, []string{"7"}, "resume", 1, "Chagua namba."},
		{"go on", kept, []string{"1"}, "join.town", 1, "Jane, mji wako?"},
		{"start again", kept, []string{"2"}, "home", 0, "Karibu"},
		{"a node that is gone", machine.State{Kept: "join.street", Vars: map[string]string{"name": "Jane"}}, nil, "home", 1, "Welcome"},
		{"a node without a screen", machine.State{Kept: "join.make"}, nil, "home", 0, "Welcome"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, scr, err := m.Start(p, tt.from, run)
			for _, in := range tt.inputs {
				s, scr, err = m.Input(p, s, in, run)
			}
			if err != nil || s.Node != tt.node || len(s.Vars) != tt.vars || !strings.HasPrefix(scr.Text, tt.begins) {
				t.Errorf("state = %+v, screen %q, %v; want %q at %s", s, scr.Text, err, tt.begins, tt.node)
			}
		})
	}
}

func TestDraftable(t *testing.T) {
	t.Parallel()
	p := pack(t, "start: home\n", "start: home\nlogin: login.pin\n", "    to: order.make\n", "    to: order.make\n    draft: login\n")
	for _, tt := range []struct {
		state machine.State
		want  bool
	}{
		{machine.State{Node: "order", Account: "acc"}, true},
		{machine.State{Node: "order"}, false},
		{machine.State{Node: "order", Account: "acc", Kept: "join.town"}, false},
		{machine.State{Node: "join.name"}, true},
		{machine.State{Node: "join.pin"}, false},
		{machine.State{Node: "join.name", Account: "acc"}, false},
		{machine.State{Node: "join.name", Done: true}, false},
		{machine.State{Node: "join.name", Kept: "join.town"}, false},
		{machine.State{Node: "gone"}, false},
	} {
		if got := machine.Draftable(p, &tt.state); got != tt.want {
			t.Errorf("Draftable(%+v) = %v, want %v", tt.state, got, tt.want)
		}
	}
}

// TestTrouble of packs and actions is an error, never a panic or a loop.
func TestTrouble(t *testing.T) {
	t.Parallel()
	loop := pack(t, "queued: {to: read.sent}", "queued: {to: read.send}")
	for name, tt := range map[string]struct {
		p    *menu.Pack
		node string
		in   string
		run  machine.Runner
	}{
		"node is gone":        {pack(t), "gone", "1", run},
		"nobody runs actions": {pack(t), "read", "1", nil},
		"action fails":        {pack(t), "read", "1", func(machine.Call) (machine.Result, error) { return machine.Result{}, errors.New("no") }},
		"unknown result":      {pack(t), "read", "1", func(machine.Call) (machine.Result, error) { return machine.Result{Name: "?"}, nil }},
		"actions in a circle": {loop, "read", "1", run},
	} {
		if _, _, err := (&machine.Machine{}).Input(tt.p, machine.State{Node: tt.node, Lang: "en"}, tt.in, tt.run); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLimits of a gateway make more pages.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := pack(t)
	m := &machine.Machine{Limits: menu.Limits{GSM7: 60, UCS2: 40}}
	s, _, _ := m.Start(p, machine.State{}, run)
	s, scr, err := m.Input(p, s, "1", run)
	for range 20 {
		if err != nil || scr.Units > 60 || !strings.Contains(scr.Text, "98. More") {
			t.Fatalf("screen = %q of %d units, %v; want at most 60 and a way on", scr.Text, scr.Units, err)
		}
		s, scr, err = m.Input(p, s, "98", run)
	}
}

// TestKeysAndAny are what the packs of others need.
func TestKeysAndAny(t *testing.T) {
	t.Parallel()
	p := pack(t, "  closed:\n", "  old:\n    text: Old\n    options: [{key: \"1\", text: One, to: home}]\n    any: read\n    keys: {\"*\": home, \"0\": closed}\n  closed:\n",
		"to: closed}", "to: old}")
	for in, want := range map[string]string{"1": "home", "7": "read", "*": "home", "exit": "home", "0": "closed", "": "old"} {
		m := &machine.Machine{}
		s, _, err := m.Input(p, machine.State{Node: "old", Lang: "en"}, in, run)
		if err != nil || s.Node != want {
			t.Errorf("key %q leads to %s, %v; want %s", in, s.Node, err, want)
		}
	}
}

// TestLogOut forgets who was logged in and shows the first screen.
func TestLogOut(t *testing.T) {
	t.Parallel()
	p, m := pack(t), &machine.Machine{}
	was := machine.State{
		Pack: p.Name, Version: p.Version, Node: "read", Lang: "sw", Account: "acc-1", Proof: "p", Kept: "read", Step: 4, Page: 2,
		Vars: map[string]string{"who": "Asha"}, Secrets: map[string]string{"pin": "48213"},
	}
	s, scr, err := m.LogOut(p, was, "Bye.", run)
	if err != nil || s.Authenticated() || s.Proof != "" || s.Vars != nil || s.Secrets != nil || s.Kept != "" || s.Node != p.Start || s.Lang != "sw" || s.Step != 5 {
		t.Errorf("LogOut() = %+v, %v, want nobody logged in at %s", s, err, p.Start)
	}
	if !strings.HasPrefix(scr.Text, "Bye.\n") {
		t.Errorf("screen = %q, want the notice first", scr.Text)
	}
}

// TestActionForgetsSecrets: an empty value removes an answer, also a secret one.
func TestActionForgetsSecrets(t *testing.T) {
	t.Parallel()
	p, m := pack(t), &machine.Machine{}
	was := machine.State{Node: "join.pin", Lang: "en", Secrets: map[string]string{"oldPin": "48213", "code": "123456"}}
	s, _, err := m.Input(p, was, "11111", func(c machine.Call) (machine.Result, error) {
		return machine.Result{Name: "weak", Set: map[string]string{"oldPin": ""}}, nil
	})
	if _, kept := s.Secrets["oldPin"]; err != nil || kept || s.Secrets["code"] == "" || was.Secrets["oldPin"] == "" {
		t.Errorf("secrets = %v, %v, want code and no oldPin, and the state before unchanged", s.Secrets, err)
	}
}

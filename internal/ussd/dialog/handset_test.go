package dialog_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

const packText = `
pack: little
title: Little
languages: [en, sw]
start: home
navigation:
  back: {en: Back, sw: Rudi}
  exit: {en: Exit, sw: Toka}
  more: {en: More, sw: Zaidi}
  goodbye: {en: Bye., sw: Kwaheri.}
  invalid: {en: No., sw: Hapana.}
nodes:
  home:
    text: {en: Welcome, sw: Karibu}
    options:
      - {key: "1", text: {en: PIN, sw: PIN}, to: pin}
      - {key: "9", text: {en: Language, sw: Lugha}, to: language}
  language:
    text: {en: Language, sw: Lugha}
    options:
      - {key: "2", text: {en: Kiswahili, sw: Kiswahili}, set: {language: sw}, to: home}
  pin:
    text: {en: "Enter your PIN", sw: "Andika PIN"}
    input: {name: pin, check: pin, secret: true, error: {en: Five digits., sw: Tano.}}
    to: home
    back: home
`

// handsetLine answers by what was typed last and keeps what it was sent.
type handsetLine struct {
	mu     sync.Mutex
	set    *wire.Set
	texts  []string
	nodes  map[string]string // session → node
	limits string            // JSON
	blind  bool              // does not tell where sessions are
	odd    bool              // never gives the same answer
}

func newHandsetLine(t *testing.T) *handsetLine {
	t.Helper()
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return &handsetLine{set: set, nodes: map[string]string{}}
}

func (l *handsetLine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok := strings.CutPrefix(r.URL.Path, "/api/ussd/debug/"); ok {
		if l.blind {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"debugInfo":{"path":%q,"context":{"limits":%s}}}`, l.nodes[id], cmp.Or(l.limits, "{}"))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	g := l.set.Get(strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/ussd"), "/"))
	q, err := wire.Read(r, body, g)
	if err != nil {
		g.Write(w, q, wire.Reply{Text: "Invalid input. Please try again.", End: true})
		return
	}
	l.texts = append(l.texts, q.Text)
	reply, node := wire.Reply{Text: "Welcome\n1. PIN\n9. Language\n*. Exit"}, "home"
	switch q.Text[strings.LastIndexByte(q.Text, '*')+1:] {
	case "1":
		reply, node = wire.Reply{Text: "Enter your PIN\n0. Back\n*. Exit"}, "pin"
	case "9":
		reply, node = wire.Reply{Text: "Language\n2. Kiswahili"}, "language"
	case "2":
		reply.Text = "Karibu"
	case "7":
		reply.Text = "Safi sana ŋ \x1b[31m a line that is far too long for the little screen of a telephone and_one_word_that_is_longer_than_a_line"
	case "8":
		reply = wire.Reply{Text: "Bye.", End: true}
	}
	if l.odd {
		reply.Text += fmt.Sprint(len(l.texts))
	}
	l.nodes[q.SessionID] = node
	g.Write(w, q, reply)
}

// runHandset types lines into a handset and gives what it showed.
func runHandset(t *testing.T, l *handsetLine, c dialog.HandsetConfig, lines ...string) string {
	t.Helper()
	var out strings.Builder
	c.In, c.Out, c.Gateways = strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, l.set
	c.Phone.Send, c.Phone.Base = dialog.Direct(l), "http://line.test"
	if err := dialog.RunHandset(t.Context(), c); err != nil {
		t.Fatalf("Run() = %v", err)
	}
	return out.String()
}

func pack(t *testing.T) *menu.Pack {
	t.Helper()
	p, err := menu.Parse("p", []byte(packText), menu.Known{Checks: []string{"pin"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestScreen(t *testing.T) {
	t.Parallel()
	out := runHandset(t, newHandsetLine(t), dialog.HandsetConfig{Phone: dialog.PhoneConfig{Number: "+254700000001", Code: "*384#"}}, "", "8")
	for _, want := range []string{
		"The documented interface  +254700000001  *384#",
		"│ Welcome                            │\n│ 1. PIN                             │\n",
		"148 left of 182 (GSM-7)", ", home\n", "│ Bye.    ", "The call is over.", "dial> ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the handset does not show %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b[") {
		t.Errorf("colours without a terminal:\n%q", out)
	}
	if out := runHandset(t, newHandsetLine(t), dialog.HandsetConfig{Terminal: true}, ""); !strings.Contains(out, "\x1b[1m") {
		t.Errorf("no colours on a terminal:\n%q", out)
	}
}

// Nothing the server sends steers the terminal, and every row is as wide as
// the frame.
func TestHostileScreen(t *testing.T) {
	t.Parallel()
	out := runHandset(t, newHandsetLine(t), dialog.HandsetConfig{}, "", "7")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "no handset shows") || !strings.Contains(out, "UCS-2") {
		t.Errorf("screen:\n%q", out)
	}
	for row := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(row, "\n"))); strings.HasPrefix(row, "│") && n != 38 {
			t.Errorf("row of %d columns, want 38: %s", n, row)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // on the screen
		texts string // that the server got
	}{
		{"dial and answer", []string{"", "1", "0"}, "Welcome", ",1,1*0"},
		{"drop", []string{"", "1", ":drop", "", "1"}, "The call is gone", ",1,,1"},
		{"redial", []string{"", "1", ":redial", "1"}, "Welcome", ",1,,1"},
		{"deep dial", []string{":redial 9*2"}, "Karibu", "9*2"},
		{"dup", []string{"", ":dup", "1"}, "Both copies got this answer.", ",1,1"},
		{"again", []string{"", "1", ":again"}, "The same answer as before.", ",1,1"},
		{"again too early", []string{":again"}, "! nothing was sent yet", ""},
		{"delay", []string{":delay 5ms", ""}, "Answers are 5ms late", ""},
		{"bad delay", []string{":delay soon", ":delay -1s", ":delay 1h"}, "want a time such as 500ms", ""},
		{"help", []string{":help"}, ":save FILE", ""},
		{"unknown", []string{":jump"}, "! :jump is not known", ""},
		{"quit", []string{":quit", ""}, "Enter dials.", ""},
		{"colon", []string{"", "::1"}, "Welcome", ",:1"},
		{"gateway", []string{":gateway hubtel", "", "1", "0"}, "Hubtel", ",1,0"},
		{"unverified", []string{":gateway nalo"}, "Nalo (unverified)", ""},
		{"no gateway", []string{":gateway none", ""}, "there is no gateway \"none\"; there are africastalking", ""},
		{"phone", []string{":phone +254711111111", ""}, "Welcome", ""},
		{"nothing to save", []string{":save x"}, "! want a file", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newHandsetLine(t)
			out := runHandset(t, l, dialog.HandsetConfig{}, tt.lines...)
			if got := strings.Join(l.texts, ","); !strings.Contains(out, tt.want) || got != tt.texts {
				t.Errorf("texts = %q, want %q; screen:\n%s\nwant %q", got, tt.texts, out, tt.want)
			}
		})
	}
}

func TestCopiesThatDiffer(t *testing.T) {
	t.Parallel()
	l := newHandsetLine(t)
	l.odd = true
	out := runHandset(t, l, dialog.HandsetConfig{}, "", ":dup", "1", ":again")
	if !strings.Contains(out, "! The other copy got another answer") || !strings.Contains(out, "! Not the answer it was before.") {
		t.Errorf("screen:\n%s", out)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	l := newHandsetLine(t)
	out := runHandset(t, l, dialog.HandsetConfig{Pack: pack(t), Lang: "sw"}, "", ":redial")
	if got := strings.Join(l.texts, ","); got != ",9,9*2,,9,9*2" || !strings.Contains(out, "(9 for the language sw)") || !strings.Contains(out, "Karibu") {
		t.Errorf("texts = %q, screen:\n%s", got, out)
	}
	l = newHandsetLine(t)
	runHandset(t, l, dialog.HandsetConfig{Pack: pack(t), Lang: "en"}, "")
	if len(l.texts) != 1 {
		t.Errorf("texts = %q, want the dial alone for the first language", l.texts)
	}
}

// A walk is saved without what was typed at a PIN, whether the server tells
// where the session is or not, and can be read.
func TestHandsetSave(t *testing.T) {
	t.Parallel()
	for _, blind := range []bool{false, true} {
		l := newHandsetLine(t)
		l.blind = blind
		file := filepath.Join(t.TempDir(), "walk.dialog")
		out := runHandset(t, l, dialog.HandsetConfig{Pack: pack(t), Gateway: "africastalking"}, "", "1", "48213", "1", "0", ":redial", "8", ":save "+file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := dialog.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		d := all[0]
		if strings.Contains(string(text), "48213") || len(d.Steps) != 8 || d.Steps[2].Input != "{pin}" || d.Steps[4].Input != "0" || d.Gateway != "africastalking" {
			t.Errorf("saved (%v):\n%s", err, text)
		}
		if !strings.Contains(out, "Saved 7 steps") || strings.Contains(string(text), "@ pin") == blind {
			t.Errorf("blind %v: screen:\n%s\nsaved:\n%s", blind, out, text)
		}
	}
}

// Ctrl-C ends it while it waits for a line, and leaves the next line to the shell.
func TestHandsetInterrupted(t *testing.T) {
	t.Parallel()
	l := newHandsetLine(t)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var out strings.Builder
	go func() { done <- dialog.RunHandset(ctx, dialog.HandsetConfig{In: r, Out: &out, Gateways: l.set}) }()
	cancel()
	select {
	case err := <-done:
		if err != nil || !strings.HasSuffix(out.String(), "> \n") {
			t.Errorf("Run() = %v, and the screen ends with %q", err, out.String())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Run() goes on after its context has ended")
	}
}

func TestNoGateway(t *testing.T) {
	t.Parallel()
	l := newHandsetLine(t)
	err := dialog.RunHandset(t.Context(), dialog.HandsetConfig{In: strings.NewReader(""), Out: io.Discard, Gateways: l.set, Gateway: "none"})
	if err == nil || !strings.Contains(err.Error(), "africastalking") {
		t.Errorf("Run() = %v, want the names there are", err)
	}
}

// The limit that a handset shows is that of the menu, where it is smaller than
// the gateway's.
func TestLimitOfThePack(t *testing.T) {
	t.Parallel()
	p, err := menu.Parse("p", []byte(strings.Replace(packText, "navigation:", "limits: {gsm7: 120}\nnavigation:", 1)), menu.Known{Checks: []string{"pin"}})
	if err != nil {
		t.Fatal(err)
	}
	if out := runHandset(t, newHandsetLine(t), dialog.HandsetConfig{Pack: p}, ""); !strings.Contains(out, "86 left of 120 (GSM-7)") {
		t.Errorf("the handset shows another limit:\n%s", out)
	}
	far := newHandsetLine(t)
	far.limits = `{"gsm7":150,"ucs2":60}`
	if out := runHandset(t, far, dialog.HandsetConfig{Pack: p}, ""); !strings.Contains(out, "116 left of 150 (GSM-7)") {
		t.Errorf("the limit is not that of the server's menu:\n%s", out)
	}
}

// Package dialog tests a USSD line with dialogs: text files that say what is typed on
// a handset and what must be on its screen. It reads them, plays them against any
// server or handler, checks size and framing of every answer, and reports which nodes
// of a menu no dialog visits. A live session can be saved as a dialog with its secrets
// left out, also from RunHandset, with which people walk through a line.
//
// The lines of a dialog are described in syntax.go, from which docs/ussd.md is made:
//
//	dialog: log in with a wrong PIN
//	let pin = 48213
//
//	>
//	< CON Welcome to Hearth
//	< 1. Know More
//	> 2
//	@ accountMenu
//
// A file may hold several dialogs.
package dialog

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// Dialog is one file.
type Dialog struct {
	File    string
	Title   string
	Phone   string // "" is a new number for every run
	Code    string
	Gateway string
	Mode    wire.Mode // "": that of the gateway
	Let     map[string]string
	Needs   []string // variables that must be given for a run
	Steps   []Step
}

// Verb is an action of the handset in a step.
type Verb string

// The verbs.
const (
	Type   Verb = "type"   // type an answer, or dial when no call is up
	Redial Verb = "redial" // hang up
	Again  Verb = "again"  // the gateway delivers the last request again
	Double Verb = "double" // type an answer that is delivered twice at once
	// Outside is something that happens outside the handset, such as "later
	// 16m".
	Outside Verb = "do"
)

// Step is an action of the handset and its expected result.
type Step struct {
	Line    int
	Verb    Verb
	Input   string
	Expects []Expect
}

// Claim is a kind of statement about a screen.
type Claim string

// The claims.
const (
	Whole Claim = "whole" // the answer is exactly this
	Has   Claim = "has"
	Lacks Claim = "lacks"
	At    Claim = "at"    // the node
	Frame Claim = "frame" // CON or END
	Keep  Claim = "keep"  // a part of it becomes a variable
)

// Expect is one condition on an answer.
type Expect struct {
	Line  int
	Claim Claim
	Text  string
	Name  string // of the variable to keep
	match *regexp.Regexp
}

// Problem is something wrong with a dialog or found by it.
type Problem struct {
	File string
	Line int
	Text string
}

// String is file:line: text.
func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// Problems is everything that is wrong with a file.
type Problems []Problem

// Error is one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

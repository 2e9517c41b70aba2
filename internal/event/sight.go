package event

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// withheld stands in the place of an actor whom the reader may not know.
const withheld = "withheld"

// Veil says for which events not everybody may know the actor. The zero value
// withholds nothing.
type Veil struct {
	Scope string // who has it sees every actor
	Types Filter // everybody else sees the actor of these when it is themselves or the server
	Open  Filter // those of Types that show theirs to all
}

func (v Veil) covers(typ string) bool {
	return v.Scope != "" && v.Types.Match(typ) && (len(v.Open) == 0 || !v.Open.Match(typ))
}

// about explains the veil in the API reference.
func (v Veil) about() string {
	if v.Scope == "" {
		return ""
	}
	open := ""
	if len(v.Open) > 0 {
		open = " (except " + strings.Join(v.Open, ", ") + ")"
	}
	return "\n\nWithout the scope `" + v.Scope + "`, the actor of " + strings.Join(v.Types, ", ") + open + " is shown as withheld, without a requestId, " +
		"unless it was you or the server. Filters on actor and requestId match what you are shown."
}

// sight is what one reader sees of who did what.
type sight struct {
	veil Veil
	self string
	all  bool
}

// see is the view of a reader; an unknown one sees only what is for everybody.
func (l *Log) see(reader web.Caller) sight {
	v := l.cfg.Veil
	return sight{veil: v, self: reader.DID, all: v.Scope == "" || reader.May(v.Scope)}
}

// knows reports whether the reader may always know that it was this actor.
func (s sight) knows(actor string) bool { return s.all || actor == s.self || actor == system }

// show makes an event what the reader sees of it. The request id goes with the
// actor: other events of the same request would name it.
func (s sight) show(it *Item) {
	if !s.knows(it.Actor) && s.veil.covers(it.Type) {
		it.Actor, it.RequestID = withheld, ""
	}
}

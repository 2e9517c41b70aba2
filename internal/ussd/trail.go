package ussd

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// The trail of a session is what was typed and where it led, so that it can be
// saved as a dialog and looked at later: pairs of texts, each with its time and
// duration.

const (
	maxStops = 64     // pairs in a trail; later ones are left out
	timed    = 0x80   // added to their number in a trail that has times
	mask     = "\x01" // begins the name that replaces what was typed
)

// typedAt is what the trail keeps of an input at a node: not a secret, nor a
// wrong answer, which may be a secret in the wrong place, nor anything that
// looks like a PIN or a code and is not a key of the node.
func typedAt(n *menu.Node, typed string, scr *machine.Screen) string {
	typed = strings.TrimSpace(typed)
	switch {
	case len(typed) <= 1: // a key
	case n != nil && n.HasKey(typed):
	case n != nil && n.Input != nil && n.Input.Secret:
		return mask + n.Input.Name
	case scr.Refused && len(typed) > 2:
		return mask + "refused"
	case dialog.Secretive(typed):
		return mask + "digits"
	}
	return typed
}

// appendStop adds a pair to a trail, whose first byte counts them. A trail that
// an earlier version began has no times.
func appendStop(trail []byte, s stop) []byte {
	if len(trail) == 0 {
		trail = append(make([]byte, 0, 128), timed)
	}
	if trail[0]&^timed >= maxStops {
		return trail
	}
	trail[0]++
	trail = appendText(trail, s.typed)
	trail = appendText(trail, s.node)
	if trail[0]&timed == 0 {
		return trail
	}
	trail = binary.AppendUvarint(trail, uint64(max(s.after.Milliseconds(), 0)))
	return binary.AppendUvarint(trail, uint64(max(s.took.Microseconds(), 0)))
}

// stop is one pair of a trail.
type stop struct {
	typed, node string
	after       time.Duration // since the call began
	took        time.Duration // until the screen was there
}

// stopAt adds the present input to the trail.
func (a *attempt) stopAt(typed, node string) {
	now := a.s.now()
	a.rec.trail = appendStop(a.rec.trail, stop{typed, node, now.Sub(time.UnixMicro(a.rec.started)), now.Sub(a.q.Arrived)})
}

// stops are the pairs of a trail; the first is the dial.
func stops(trail []byte) []stop {
	if len(trail) == 0 {
		return nil
	}
	out := make([]stop, 0, trail[0]&^timed)
	d := decoder{s: string(trail[1:])}
	for d.s != "" {
		s := stop{typed: d.text(), node: d.text()}
		if trail[0]&timed != 0 {
			s.after = time.Duration(d.uint()) * time.Millisecond
			s.took = time.Duration(d.uint()) * time.Microsecond
		}
		out = append(out, s)
	}
	return out
}

// masked is the name that replaces what was typed at a stop; "" when nothing is
// hidden.
func (s *stop) masked() string {
	name, hidden := strings.CutPrefix(s.typed, mask)
	if !hidden {
		return ""
	}
	return name
}

// turns are the stops of a trail as a dialog has them.
func turns(trail []byte) []dialog.Turn {
	var out []dialog.Turn
	for _, s := range stops(trail) {
		t := dialog.Turn{Input: s.typed, Node: s.node}
		if name := s.masked(); name != "" {
			t.Input, t.Mask = "", name
		}
		out = append(out, t)
	}
	return out
}

// dialog is the session as a dialog file.
func (r *record) dialog(k *key) []byte {
	return dialog.Saved{Title: "saved session", Gateway: k.gateway, Code: r.code, Mode: wire.Mode(textMode(r.mode)), Turns: turns(r.trail)}.Text()
}

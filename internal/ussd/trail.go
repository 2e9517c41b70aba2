package ussd

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// The trail of a session is what was typed and where it led, so that it can be
// saved as a dialog: pairs of texts.

const (
	maxStops = 64     // pairs in a trail; later ones are left out
	mask     = "\x01" // begins the name of what was typed in place of it
)

// typedAt is what the trail keeps of an input at a node: not what is secret,
// nor what was no answer there, for it may be a secret in the wrong place, nor
// anything that looks like a PIN or a code and is no key of the node.
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

// appendStop adds a pair to a trail, whose first byte counts them.
func appendStop(trail []byte, typed, node string) []byte {
	if len(trail) == 0 {
		trail = append(make([]byte, 0, 96), 0)
	}
	if trail[0] >= maxStops {
		return trail
	}
	trail[0]++
	trail = appendText(trail, typed)
	return appendText(trail, node)
}

// stops are the pairs of the trail; the first is the dial.
func (r *record) stops() []dialog.Turn {
	if len(r.trail) == 0 {
		return nil
	}
	out := make([]dialog.Turn, 0, r.trail[0])
	d := decoder{s: string(r.trail[1:])}
	for d.s != "" {
		t := dialog.Turn{Input: d.text(), Node: d.text()}
		if name, ok := strings.CutPrefix(t.Input, mask); ok {
			t.Input, t.Mask = "", name
		}
		out = append(out, t)
	}
	return out
}

// dialog is the session as a dialog file.
func (r *record) dialog(k *key) []byte {
	return dialog.Saved{Title: "saved session", Gateway: k.gateway, Code: r.code, Mode: wire.Mode(textMode(r.mode)), Turns: r.stops()}.Text()
}

package dialog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// Turn is one step of a session to save.
type Turn struct {
	Input string // what was typed; leave it empty when Mask is set
	Mask  string // the variable that replaces a secret answer, such as pin
	Node  string // where it led; "" when that is not known
	// Screen is the answer with CON or END; "" saves none. It must not contain
	// the customer's data.
	Screen string
	Hangup bool // the handset hung up before it
}

// Saved is a session to write as a dialog file. It holds no phone number: the
// dialog runs with its own.
type Saved struct {
	Title   string
	Gateway string
	Code    string
	Mode    wire.Mode
	Turns   []Turn // the first one dials
}

// Secretive reports whether what was typed looks like a PIN or a code: 4 to 6
// digits. A saved dialog contains none, wherever it was typed, unless it is a
// key of the menu.
func Secretive(typed string) bool {
	return len(typed) >= 4 && len(typed) <= 6 && strings.Trim(typed, "0123456789") == ""
}

// The names of a new PIN and of its repetition in menu packs.
const (
	newPIN  = "pin"
	samePIN = "confirm"
)

// repeats reports whether a turn typed once more what the one before did: the
// repetition of a new PIN that was taken, since it led neither back to the PIN
// nor nowhere.
func (s Saved) repeats(i int) bool {
	if i < 2 || s.Turns[i].Mask != samePIN || s.Turns[i-1].Mask != newPIN || s.Turns[i].Hangup {
		return false
	}
	to := s.Turns[i].Node
	return to != "" && to != s.Turns[i-1].Node && to != s.Turns[i-2].Node
}

var notName = regexp.MustCompile(`[^A-Za-z0-9]`)

// maskName makes a variable name of the name of an input.
func maskName(s string) string {
	s = notName.ReplaceAllString(s, "")
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		s = "secret" + s
	}
	return s[:min(len(s), 32)]
}

// Text is the dialog file. Secret answers appear in it as variables that must
// be given to replay it.
func (s Saved) Text() []byte {
	var b, steps strings.Builder
	var needs []string
	for i, t := range s.Turns {
		if t.Hangup {
			steps.WriteString("\n:redial\n")
		}
		input := strings.NewReplacer("\n", " ", "\r", " ", "{", "{{").Replace(t.Input)
		if t.Mask != "" {
			name := maskName(t.Mask)
			if s.repeats(i) {
				name = newPIN
			}
			if input = "{" + name + "}"; !slices.Contains(needs, name) {
				needs = append(needs, name)
			}
		}
		steps.WriteString("\n" + strings.TrimRight("> "+input, " ") + "\n")
		if t.Node != "" {
			steps.WriteString("@ " + t.Node + "\n")
		}
		if t.Screen != "" {
			for line := range strings.SplitSeq(strings.ReplaceAll(t.Screen, "{", "{{"), "\n") {
				steps.WriteString(strings.TrimRight("< "+line, " ") + "\n")
			}
		}
	}
	header := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	header("dialog", s.Title)
	header("code", s.Code)
	header("gateway", s.Gateway)
	header("text", string(s.Mode))
	header("needs", strings.Join(needs, ", "))
	b.WriteString(steps.String())
	return []byte(b.String())
}

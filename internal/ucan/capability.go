package ucan

import (
	"reflect"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

// Capability is something that the holder of a token may do.
type Capability struct {
	Can  string         // the ability: "*", "memory/*", "memory/read"
	With string         // the resource: "ixo:oracle", "ixo:filesystem/*"
	NB   map[string]any // caveats that narrow it; usually none
}

// Covers reports whether a holder of c may do, or pass on, what d says. An
// ability is covered by itself, by "*" and by a pattern "prefix/*"; a resource
// by itself, by "ucan:*" and by a pattern that ends in "/*" or ":*". The
// meaning of caveats is not known here, so d must repeat those of c and may add
// more.
func (c Capability) Covers(d Capability) bool {
	return coversAbility(c.Can, d.Can) && coversResource(c.With, d.With) && coversCaveats(c.NB, d.NB)
}

func coversAbility(have, want string) bool {
	if have == want || have == "*" {
		return true
	}
	prefix, ok := strings.CutSuffix(have, "*")
	return ok && strings.HasSuffix(prefix, "/") && strings.HasPrefix(want, prefix)
}

func coversResource(have, want string) bool { return have == "ucan:*" || matchesResource(have, want) }

// matchesResource leaves "ucan:*" out: it means everything the proofs give,
// which cannot be requested.
func matchesResource(have, want string) bool {
	if have == want {
		return true
	}
	prefix, ok := strings.CutSuffix(have, "*")
	return ok && (strings.HasSuffix(prefix, "/") || strings.HasSuffix(prefix, ":")) && strings.HasPrefix(want, prefix)
}

func coversCaveats(have, want map[string]any) bool {
	for key, value := range have {
		if got, ok := want[key]; !ok || !reflect.DeepEqual(got, value) {
			return false
		}
	}
	return true
}

// anyCovers reports whether one of list covers d.
func anyCovers(list []Capability, d Capability) bool {
	for _, c := range list {
		if c.Covers(d) {
			return true
		}
	}
	return false
}

// readCapability reads one entry of "att". Abilities count in lower case, as
// in the JavaScript reader.
func readCapability(v any) (Capability, error) {
	m, ok := v.(codec.Map)
	if !ok {
		return Capability{}, refuse(Malformed, "a capability is no map")
	}
	var c Capability
	for _, e := range m {
		switch e.Key {
		case "can":
			c.Can, _ = e.Value.(string)
		case "with":
			c.With, _ = e.Value.(string)
		case "nb":
			if c.NB, ok = codec.Plain(e.Value).(map[string]any); !ok {
				return Capability{}, refuse(Malformed, "nb is no map")
			}
		default:
			return Capability{}, refuse(Malformed, "a capability has a member %q", e.Key)
		}
	}
	c.Can = strings.ToLower(c.Can)
	return c, c.check()
}

// check requires an ability that is "*" or has a slash inside, and a resource
// that is a URI.
func (c Capability) check() error {
	if c.Can != "*" && (len(c.Can) < 3 || !strings.Contains(c.Can[1:len(c.Can)-1], "/")) {
		return refuse(Malformed, "%q is no ability", c.Can)
	}
	scheme, rest, ok := strings.Cut(c.With, ":")
	if !ok || rest == "" || !isScheme(scheme) || strings.ContainsFunc(rest, isControl) {
		return refuse(Malformed, "%q is no URI", c.With)
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= s[i] && s[i] <= '9' || strings.IndexByte("+-.", s[i]) >= 0):
		default:
			return false
		}
	}
	return s != ""
}

// value is the capability in its encoded form.
func (c Capability) value() (codec.Map, error) {
	m := codec.Map{{Key: "can", Value: c.Can}, {Key: "with", Value: c.With}}
	if c.NB == nil {
		return m, nil
	}
	nb, err := codec.From(c.NB)
	if err != nil {
		return nil, malformed(err)
	}
	return codec.Map{{Key: "nb", Value: nb}, m[0], m[1]}, nil
}

package survey

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// reaches are what the modes can ask in which this server does.
var reaches = []struct {
	mode  string
	reach form.Reach
}{{USSD, form.ByKeys}, {Chat, form.InWords}}

// ReachOf is what an interviewer can accept as an answer in a mode.
func ReachOf(mode string) form.Reach {
	for _, r := range reaches {
		if r.mode == mode {
			return r.reach
		}
	}
	return form.Anything
}

// served lists the modes in which this server, or systems of the operator, ask
// the households of a workspace directly.
func (c *Config) served(ws string) []string {
	return slices.Concat(c.Channels, c.Asks(ws))
}

// unasked are the questions that a mode leaves out, by the mode.
func unasked(f *form.Form, modes []string) map[string][]string {
	var out map[string][]string
	for _, r := range reaches {
		if !slices.Contains(modes, r.mode) {
			continue
		}
		for _, b := range f.Beyond(r.reach, r.mode) {
			if out == nil {
				out = map[string][]string{}
			}
			out[r.mode] = append(out[r.mode], strings.Join(b.Path, "/"))
		}
	}
	return out
}

// checkAskable notes questions that must be answered and that a mode cannot ask:
// no interview in it would ever be complete.
func checkAskable(c *fault.Checks, f *form.Form, modes []string) {
	for i, mode := range modes {
		for _, r := range reaches {
			if f == nil || r.mode != mode {
				continue
			}
			for _, b := range f.Beyond(r.reach, mode) {
				if b.Required {
					c.Add(fmt.Sprintf("/modes/%d", i), "not_askable", fmt.Sprintf("%s cannot ask %s, a question of type %s that needs an answer. Make it optional, or relevant only when response.mode != %q.", mode, strings.Join(b.Path, "/"), b.Type, mode))
				}
			}
		}
	}
}

// AnswersItself reports whether the USSD line or the oracle has asked. They accept
// answers from households for themselves and from collectors for others, and from
// nobody else.
func AnswersItself(c web.Caller) bool { return c.Door == USSD || c.Door == Chat }

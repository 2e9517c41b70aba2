package response

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ownModes lists the modes in which a part of this server asks. A caller that
// claims one of the first two is refused; the others are only flagged, because an
// operator's own system may ask in them.
var ownModes = []string{survey.Browser, survey.Collect, survey.USSD, survey.Chat}

// asked says how the household was asked: by the door that the response came
// through where that knows, else as its sender says, or the first mode of the
// survey.
func (p *Prepared) asked(c web.Caller, h *Head) {
	modes := p.open.Modes
	door := c.Door
	if door == "" && c.Session != "" {
		door = survey.Browser
	}
	p.self = survey.AnswersItself(c)
	planned := slices.Contains(modes, door)
	switch {
	case p.old != nil || p.filed || !p.held.At.IsZero():
	case p.self, planned && h.Mode == "":
		h.Mode = door
	}
	if h.Mode == "" {
		h.Mode = "visit"
		// The first one that a caller from outside the server can mean.
		if i := slices.IndexFunc(modes, func(mode string) bool { return !slices.Contains(ownModes, mode) }); i >= 0 {
			h.Mode = modes[i]
		}
	}
	p.claimed = h.Mode != door && p.draft.Mode != "" && slices.Contains(ownModes, h.Mode) && !p.filed && p.held.At.IsZero()
}

// checkClaim refuses what only a door can say.
func (p *Prepared) checkClaim(c *fault.Checks) {
	if p.claimed && (p.head.Mode == survey.Browser || p.head.Mode == survey.Collect) {
		c.Add("/mode", "not_claimed", "The server sets this mode itself for the interview page of the console (browser) and ODK Collect (collect). Omit it, or send visit or phone.")
	}
}

package survey

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// view is how a caller sees the households of a campaign. Whoever manages it must
// know all of them, a collector or back-checker those it is to visit.
type view struct {
	privacy.Sight
	self string
	own  bool // only the households that self is to visit
	back bool // self learns who and where these are, whatever else it may know
	open *Open
}

func (l *lists) view(ctx context.Context, o *Open) view {
	x := l.viewOf(ctx, o.Workspace, o.Project, o.Assigned)
	x.open = o
	return x
}

// viewOf is view for a campaign; assigned says whether its households are
// assigned. If none are, every collector sees the list.
func (l *lists) viewOf(ctx context.Context, ws, project string, assigned bool) view {
	c, names := web.CallerFrom(ctx), l.vault.Pseudonyms(ws, project)
	x := privacy.See(c.DID, c.May, names, "surveys:write", "surveys:assign")
	if x.All() || !c.May("responses:write") {
		return view{Sight: x, self: c.DID, back: c.May("responses:check")}
	}
	return view{Sight: privacy.See(c.DID, c.May, names, "responses:write"), self: c.DID, own: assigned}
}

// visits reports whether the caller is to visit a household. Its AssignedTo is
// set.
func (x view) visits(h *Household) bool { return x.self != "" && h.AssignedTo == x.self }

// sees reports whether a household is one the caller sees. Its AssignedTo is set.
func (x view) sees(h *Household) bool { return !x.own || x.visits(h) }

// present fills in what follows from the campaign, and hides where people live
// and who they are from callers who only look at results, or visit others.
func (x view) present(h *Household) {
	o := x.open
	h.Outcome, h.AssignedTo = h.in(o.Round), o.Collector(h)
	if h.OutcomeRound = h.round; h.Outcome == OutcomeListed {
		h.OutcomeRound = 0
	}
	if x.All() && x.sees(h) || x.back && x.visits(h) {
		return
	}
	h.Masked = h.Location != nil || !h.Attributes.IsZero()
	h.Location, h.Attributes.Value = nil, nil
	if h.Replacement != nil {
		h.Replacement = &Replacement{HouseholdID: h.Replacement.HouseholdID, At: h.Replacement.At}
	}
	if !x.All() {
		h.HouseholdID, h.Collector, h.AssignedTo = x.Household(h.HouseholdID), x.Person(h.Collector), x.Person(h.AssignedTo)
		if h.Replaces != "" {
			h.Replaces = x.Household(h.Replaces)
		}
		if h.Replacement != nil {
			h.Replacement.HouseholdID = x.Household(h.Replacement.HouseholdID)
		}
	}
}

// veiled is a campaign as the caller sees it.
func (s *Service) veiled(ctx context.Context, v *Survey) (*Survey, bool) {
	if len(v.Assignments) == 0 {
		return v, false
	}
	x := s.viewOf(ctx, web.CallerFrom(ctx).Workspace, v.ProjectID, true)
	if x.All() && !x.own {
		return v, false
	}
	out := *v
	if x.own {
		out.Assignments = Veiled(v.Assignments, privacy.See(x.self, nobody, x.Names), x.self)
	} else {
		out.Assignments = Veiled(v.Assignments, x.Sight, "")
	}
	return &out, true
}

// nobody allows nothing.
func nobody(string) bool { return false }

package twin

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// next lists where a twin may go from a status.
func (s Status) next() []Status {
	switch s {
	case StatusDraft:
		return []Status{StatusActive, StatusDeactivated}
	case StatusActive:
		return []Status{StatusSuspended, StatusCompleted, StatusDeactivated}
	case StatusSuspended:
		return []Status{StatusActive, StatusDeactivated}
	case StatusCompleted:
		return []Status{StatusDeactivated}
	}
	return nil
}

// Check refuses a transition a twin cannot make.
func (s Status) Check(to Status) error {
	if slices.Contains(s.next(), to) {
		return nil
	}
	words := "It is " + string(s) + " and stays so."
	if next := s.next(); len(next) > 0 {
		texts := make([]string, len(next))
		for i, n := range next {
			texts[i] = string(n)
		}
		words = "It is " + string(s) + " and can become " + strings.Join(texts, " or ") + "."
	}
	return fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", "The entity cannot go to this status.").
		With(fault.Field{Pointer: "/to", Code: "not_allowed", Detail: words})
}

package survey

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Contact says how the visitor of a household reaches it.
type Contact struct {
	Name  string      `json:"name,omitzero" example:"Amina Otieno"`
	Phone string      `json:"phone,omitzero" example:"+254700000001"`
	Place form.Object `json:"place,omitzero" doc:"The registered location of the household's twin."`
}

// maxContacts is how many households one page with contacts has: as many as the
// entry in the audit log can name.
const maxContacts = 50

// mayContact reports whether the caller may learn how to reach the households a
// filter selects: those the caller is to visit, while the campaign runs. Faults:
// INVALID_PARAMETER, SCOPE_MISSING, SURVEY_NOT_ACTIVE.
func mayContact(ctx context.Context, o *Open, f HouseholdFilter) error {
	c := web.CallerFrom(ctx)
	switch {
	case f.Collector == "" || f.Collector != c.DID:
		return fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/contact", Code: "not_yours", Detail: "Contacts are shown only for households assigned to you: send collector=me as well."})
	case !c.May("responses:write") && !c.May("responses:check"):
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "Reading contacts of households needs the scope responses:write or responses:check.")
	case o.StrictCollectors && !o.Collectors[c.DID] && !c.May("responses:check"):
		return fault.New(fault.Forbidden, "NOT_COLLECTOR", "You are no longer a collector of this survey.")
	case o.Status != StatusActive && o.Status != StatusPaused:
		return fault.New(fault.Conflict, "SURVEY_NOT_ACTIVE", "Contacts are shown while the survey is active or paused. It is "+string(o.Status)+".")
	}
	return nil
}

// contactsRead is what the event of a call says. Events name no households: they
// have the names of pseudonymised exports.
type contactsRead struct {
	Households []string `json:"households"`
}

// addContacts adds contacts to items, and notes in the audit log that the
// caller has learned them.
func (l *lists) addContacts(ctx context.Context, o *Open, items []*Household) error {
	told := contactsRead{Households: []string{}}
	name := l.vault.Pseudonyms(o.Workspace, o.Project)
	for _, h := range items {
		if h.Erased {
			continue
		}
		c, err := l.contact(ctx, l.db, h.HouseholdID)
		if err != nil {
			return err
		}
		if c != nil {
			h.Contact = c
			told.Households = append(told.Households, name(h.HouseholdID))
		}
	}
	if len(told.Households) == 0 {
		return nil // nothing was revealed
	}
	return l.db.InTx(ctx, func(tx *db.Tx) error {
		return l.events.Append(ctx, tx, event.Event{
			Workspace: o.Workspace, Type: "survey.contacts_disclosed", Subject: o.SurveyID, Revision: o.Revision, Data: told,
		})
	})
}

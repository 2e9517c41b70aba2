package response

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const correcting = "A correction reopens earlier decisions about the response and repeats the checks. Only the person who collected or sent the response, or a key with the scope surveys:write, may correct it; " +
	"a verified response needs that scope and a reason. Its id, survey, household, round, collector and supersedes stay. A correction that changes nothing makes no revision, unless it sends answers that the key may not read. " +
	"In a list whose entries have personal answers that the key may not read, a correction changes the other answers in place, and the hidden ones stay in their entries unless they are sent: " +
	"adding, removing or moving entries, or taking the list out, needs the scope responses:pii (ENTRIES_WITHHELD). Only its place identifies an entry: send the entries in the order you read them."

// changeRoutes adds the routes that read and change responses.
func (h handlers) changeRoutes(a *web.API) {
	const read, write, path = "responses:read", "responses:write", "/v1/responses/{responseId}"
	changing := []string{"RESPONSE_NOT_FOUND", invalidCode, "INVALID_PARAMETER", "HOUSEHOLD_ERASED", "RESPONSE_LOCKED", "SURVEY_ARCHIVED", "NOT_COLLECTOR", "ENTRIES_WITHHELD", "STALE_REVISION", "PRECONDITION_REQUIRED"}
	web.Get(a, "/v1/responses", h.serveOfHousehold, web.Doc{
		Summary: "List the responses of a household, or those in one state of verification", Scope: read, Tag: tag, Codes: []string{"INVALID_PARAMETER"},
		Description: "With verification: in all surveys, newest first. With householdId: in all surveys, one after the other, round by round. One of the two is needed. A page may be short: follow hasMore. Without the scope responses:pii the list of a household has the responses you collected or sent. " +
			"This route does not accept the pseudonym of a household: filter the list of a survey by it.",
	})
	web.Get(a, path, h.serveGet, web.Doc{
		Summary: "Read a response", Scope: read, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND", "REVISION_NOT_FOUND"},
		Description: "missingAttachments names the files that have not arrived. With at, the response is read as it was then; flags of earlier revisions are not kept.\n\n" + checking,
	})
	web.Put(a, path, h.servePut, web.Doc{
		Summary: "Correct a response", Scope: write, Tag: tag, Codes: changing, Example: corrected(),
		Description: "The body is the whole content. Personal answers stay when the key may not read them and does not send them. " + correcting,
	})
	web.Patch(a, path, h.servePatch, web.Doc{
		Summary: "Correct part of a response", Scope: write, Tag: tag, Patch: true, JSONPatch: true, Codes: changing,
		Example:     map[string]any{"responses": map[string]any{"socio_economic": map[string]any{"household_size": 6}}},
		Description: "null removes an answer. A JSON patch is applied to the content as this key reads it: the patch cannot test, copy or remove answers that the key may not read, and these stay unless it adds them. " + correcting,
	})
	web.Delete(a, path, h.serveDelete, web.Doc{
		Summary: "Take the content out of a response", Scope: write, Tag: tag,
		Codes:       []string{"RESPONSE_NOT_FOUND", "RESPONSE_LOCKED", "NOT_COLLECTOR", "STALE_REVISION", "PRECONDITION_REQUIRED", "INVALID_PARAMETER"},
		Description: "The record still shows that there was a response, from which household and when, and who decided what. Answers, place, metadata and files are removed, from its history too. Files of exports of the survey are removed. This cannot be undone.",
	})
	web.Get(a, path+"/history", h.serveHistory, web.Doc{
		Summary: "List the revisions of a response, newest first", Scope: read, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND"},
	})
}

// one names a response.
type one struct {
	ID string `path:"responseId" doc:"Id of the response." example:"resp_789"`
}

// changed names a response, the revision that was read, and why it changes.
type changed struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; required."`
	Reason  string `query:"reason" doc:"The reason, for the history; at most 1,000 characters. Needed when a response is verified, or taken out." example:"The household has called."`
}

func (h handlers) serveGet(ctx context.Context, in *struct {
	one
	At string `query:"at" doc:"Revision, or time, to read it as it was." example:"1"`
	survey.FieldsQuery
},
) (web.Reply[*Record], error) {
	var set survey.FieldSet
	if in.Fields != "" {
		_, o, err := h.service.Find(ctx, h.service.db, in.ID)
		if err == nil {
			set, err = in.Set(known(o.Form))
		}
		if err != nil {
			return web.Reply[*Record]{}, err
		}
	}
	keep := survey.KeepOne[*Record](set)
	if in.At != "" {
		return keep(h.service.At(ctx, in.ID, in.At))
	}
	return keep(h.service.Get(ctx, in.ID))
}

func (h handlers) servePut(ctx context.Context, in *struct {
	changed
	Body Replacement
},
) (web.Reply[*Record], error) {
	return h.service.Correct(ctx, in.ID, Correction{IfMatch: in.IfMatch, Reason: in.Reason, Draft: (*Draft)(&in.Body)})
}

// Replacement is a response that replaces another of the same household.
type Replacement Draft

// Schema describes it for the reference: what need not be repeated is as it was.
func (Replacement) Schema(reg huma.Registry) *huma.Schema {
	s := huma.SchemaFromType(reg, reflect.TypeFor[Draft]())
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "householdId" })
	return s
}

// Patch is a change of a response. It documents the body; the raw bytes are
// merged.
type Patch Draft

func (h handlers) servePatch(ctx context.Context, in *struct {
	changed
	Body    Patch
	RawBody []byte
},
) (web.Reply[*Record], error) {
	c := Correction{IfMatch: in.IfMatch, Reason: in.Reason, Patch: in.RawBody}
	if web.IsJSONPatch(ctx) {
		c.Patch, c.JSONPatch = nil, in.RawBody
	}
	return h.service.Correct(ctx, in.ID, c)
}

func (h handlers) serveDelete(ctx context.Context, in *changed) (web.Reply[*Record], error) {
	return h.service.Redact(ctx, in.ID, in.IfMatch, in.Reason)
}

func (h handlers) serveHistory(ctx context.Context, in *struct {
	one
	web.Paging
},
) (web.Reply[web.Page[Revision]], error) {
	var at place
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]Revision, place, error) {
		items, next, err := h.service.History(ctx, in.ID, at.Before, limit)
		return items, place{Before: next}, err
	})
}

func (h handlers) serveOfHousehold(ctx context.Context, in *struct {
	Household string `query:"householdId" doc:"DID of the household." example:"did:ixo:household/123"`
	State     string `query:"verification" enum:"pending,in_review,verified,rejected,needs_correction,flagged,disputed,invalidated,superseded" doc:"State of its verification."`
	survey.FieldsQuery
	web.Paging
},
) (web.Reply[web.Page[Item]], error) {
	var none web.Reply[web.Page[Item]]
	if in.State != "" && in.Household == "" {
		return h.serveStanding(ctx, in.State, in.FieldsQuery, in.Paging)
	}
	var c fault.Checks
	if in.State != "" {
		c.Add("query/verification", "combined", "Give householdId or verification, not both.")
	}
	c.Require(in.Household != "", "query/householdId")
	if strings.HasPrefix(in.Household, "hh_") {
		c.Add("query/householdId", "pseudonym", "This route does not find households by name. Filter the list of a survey by it.")
	} else {
		check.DID(&c, "query/householdId", in.Household)
	}
	if caller := web.CallerFrom(ctx); c.OK() && !caller.May(privacy.PII) && !caller.May("responses:write") {
		c.Add("query/householdId", "scope_missing", "This key sees households only by name. Asking by DID needs the scope responses:pii.")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return none, err
	}
	set, err := in.Set(known(nil))
	if err != nil {
		return none, err
	}
	var at Place
	return survey.KeepPage[Item](set)(web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]Item, *Place, error) {
		return h.service.OfHousehold(ctx, in.Household, at, limit)
	}))
}

// serveStanding lists the responses of all surveys in one state of verification.
func (h handlers) serveStanding(ctx context.Context, state string, fields survey.FieldsQuery, paging web.Paging) (web.Reply[web.Page[Item]], error) {
	var none web.Reply[web.Page[Item]]
	set, err := fields.Set(known(nil))
	if err != nil {
		return none, err
	}
	var before int64
	return survey.KeepPage[Item](set)(web.List(ctx, h.service.cfg.Cursors, paging, &before, func(limit int) ([]Item, int64, error) {
		return h.service.Standing(ctx, state, before, limit)
	}))
}

// corrected is a content without the members that identify the response: those
// cannot change.
func corrected() any {
	return map[string]any{
		"timestamp": "2024-02-20T10:00:00Z",
		"responses": map[string]any{
			"eligibility":    map[string]any{"current_cooking": []string{"wood", "lpg"}},
			"socio_economic": map[string]any{"household_size": 6},
		},
	}
}

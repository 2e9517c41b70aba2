package response

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "responses"

const submitting = "Every answer is checked against the template version that the survey pins. A multiple-choice answer is an array, even for one option; " +
	"a number is a JSON number. A response without required answers is refused unless partial is true or the household refuses consent; a response without consent is stored with the status refused, and cannot be verified. Without an answer to the consent question a response is partial, unless the template says otherwise; a decision of verified that comes with it is kept as in_review. " +
	"The same responseId with the same content is stored once, and answered with 200 to the person who collected or sent it and to keys with the scope responses:pii. With other content, or from other keys, it is refused; the answer names every question that differs, in differences for programs. A household has one response in a round unless the survey says otherwise. " +
	"Only the person who collected or sent the earlier response, or a key with surveys:write, may name it in supersedes. Answers marked as personal are sealed, and shown only to keys with the scope responses:pii; verifiers see pictures and rounded places marked as indirect as evidence. Checks flag and never refuse. A verification that comes with a response needs the scopes responses:verify and imports:write."

// checking says how contentId is recomputed.
const checking = "To check contentId (content.version 2; write every object as in RFC 8785, hashes and salts as hex, and leave out absent members): " +
	"it is the CID, version 1, raw, SHA-256, of {durationSec, named, open, personal, startedAt, timestamp, version, who}: the times of the record and the members of content. " +
	"open is the SHA-256 of the responses that a key without responses:pii reads, without answers to household_ref questions. who is the HMAC-SHA-256 of {collector, householdId} with content.whoSalt; " +
	"named, if present, is the HMAC of all the responses that a key without responses:pii reads, with the same salt. personal is the HMAC-SHA-256 of {location, responses} as a key with responses:pii reads them, with personalSalt. " +
	"An erasure destroys that salt; the rest of contentId can still be checked. A response without content comes from an earlier version: its contentId is the CID of the responses that a key without responses:pii reads."

var submitCodes = []string{
	invalidCode, "SURVEY_NOT_FOUND", "SURVEY_NOT_ACTIVE", "HOUSEHOLD_ERASED", "RESPONSE_CONFLICT", "DUPLICATE_HOUSEHOLD_RESPONSE", "SUPERSEDES_INVALID", "RESPONSE_NOT_VERIFIABLE",
	"COLLECTOR_UNKNOWN", "NOT_COLLECTOR",
}

// handlers answer the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds the response API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	const read, write = "responses:read", "responses:write"
	web.Post(a, "/v1/surveys/{surveyId}/responses", h.serveSubmit, web.Doc{
		Summary: "Send a response to a survey", Status: http.StatusCreated, Also: []int{http.StatusOK}, Scope: write, Tag: tag, Once: true, Description: submitting,
		Example: example(""), Codes: submitCodes, Refusal: Members{},
	})
	web.Post(a, "/v1/responses", h.serveSubmitAny, web.Doc{
		Summary: "Send a response", Status: http.StatusCreated, Also: []int{http.StatusOK}, Scope: write, Tag: tag, Once: true,
		Description: "surveyId names the survey, or a template that exactly one active survey uses; a stored response is found again by its template, whatever happens to the surveys of that template later. " + submitting, Example: example("baseline-v1"),
		Codes: append([]string{"AMBIGUOUS_SURVEY"}, submitCodes...), Refusal: Members{},
	})
	web.Get(a, "/v1/surveys/{surveyId}/responses", h.serveList, web.Doc{
		Summary: "List the responses of a survey, newest first", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "INVALID_FILTER"},
		Description: "An index serves answers that are numbers, choices or dates when a required part of the filter compares them with eq or in, or with lt, le, gt or ge where few match; any other filter examines 2,000 responses a page: a page may be short, follow hasMore. asOf is the moment of the list, for a decision about many. Filters cannot use personal answers. Without the scope responses:pii, households, collectors, senders and devices have the names of pseudonymised exports, in filters too, and so have barcodes, serial numbers and DIDs of twins in answers, except in responses you collected or sent.",
	})
	h.changeRoutes(a)
	s.cfg.Media.Routes(a, s.sees)
}

// example is the documented response, whole when it names its survey.
func example(survey string) any {
	m := map[string]any{
		"responseId": "resp_789", "householdId": "did:ixo:household/123", "timestamp": "2024-02-20T10:00:00Z",
		"responses": map[string]any{
			"eligibility":    map[string]any{"current_cooking": []string{"wood", "charcoal"}},
			"socio_economic": map[string]any{"household_size": 5},
		},
	}
	if survey != "" {
		m["surveyId"] = survey
		m["verification"] = map[string]any{"status": "verified", "verifier": "did:ixo:agent/456", "timestamp": "2024-02-20T11:00:00Z"}
	}
	return m
}

func (h handlers) serveSubmit(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Body   Draft
},
) (web.Reply[*Record], error) {
	return h.service.Submit(ctx, in.Survey, &in.Body)
}

func (h handlers) serveSubmitAny(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*Record], error) {
	return h.service.Submit(ctx, "", &in.Body)
}

// place is where a list of responses continues.
type place struct {
	Before int64 `json:"b"`
	AsOf   int64 `json:"a,omitzero"`
}

func (h handlers) serveList(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Status string `query:"verification" doc:"Only responses in this state of verification." enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed,invalidated,superseded"`
	Filter string `query:"filter" doc:"Filter such as and(eq(status,complete),gt(responses.socio_economic.household_size,4))."`
	survey.FieldsQuery
	web.Paging
},
) (web.Reply[web.Page[Item]], error) {
	var none web.Reply[web.Page[Item]]
	o, err := h.service.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return none, err
	}
	if in.Status != "" && !slices.Contains(states, in.Status) {
		return none, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/verification", Code: "unknown", Detail: "The value must be one of " + strings.Join(states, ", ") + "."})
	}
	set, err := in.Set(known(o.Form))
	if err != nil {
		return none, err
	}
	f := Filter{Status: in.Status}
	if in.Filter != "" {
		if f.Expr, err = ParseFilter(in.Filter, o.Form); err != nil {
			return none, err
		}
	}
	var at place
	limit, err := in.Begin(ctx, h.service.cfg.Cursors, &at)
	if err != nil {
		return none, err
	}
	if at.AsOf == 0 { // before it is read: a change in between counts as later
		held, err := h.service.cfg.Events.Range(ctx, o.Workspace)
		if err != nil {
			return none, err
		}
		at.AsOf = held.Newest
	}
	items, next, err := h.service.List(ctx, o, f, at.Before, limit)
	if err != nil {
		return none, err
	}
	var on any
	if next != 0 {
		on = place{Before: next, AsOf: at.AsOf}
	}
	page, err := web.PageOf(ctx, h.service.cfg.Cursors, limit, items, on)
	page.Value.Page.AsOf = at.AsOf
	return survey.KeepPage[Item](set)(page, err)
}

// known are the fields of a response; without a form it may have any answers.
func known(f *form.Form) survey.FieldsOf {
	return survey.FieldsOf{Type: reflect.TypeFor[Record](), Always: []string{"responseId", "masked", "pseudonymised"}, Form: f}
}

// states lists the states of verification.
var states = []string{Pending, InReview, NeedsCorrection, Flagged, Verified, Rejected, Disputed, Invalidated, Superseded}

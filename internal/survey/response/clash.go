package response

import (
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Codes of responses that clash with stored ones.
const (
	ConflictCode  = "RESPONSE_CONFLICT"
	DuplicateCode = "DUPLICATE_HOUSEHOLD_RESPONSE"
	DiffersCode   = "differs" // of a field of ConflictCode whose detail can show both values
)

// Members are the further members in the bodies of these refusals.
type Members struct {
	Current     *web.Current          `json:"current,omitzero" doc:"For RESPONSE_CONFLICT: the response that has the id, unless it belongs to another survey. For STALE_REVISION: its etag, where it is known."`
	Differences []Difference          `json:"differences,omitzero" doc:"For RESPONSE_CONFLICT: the differences between the content that was sent and the stored one, at most 100."`
	Existing    *Existing             `json:"existing,omitzero" doc:"For DUPLICATE_HOUSEHOLD_RESPONSE: the response the household has. Only for keys with the scope responses:pii and for the person who collected or sent it."`
	Candidates  []api.SurveyCandidate `json:"candidates,omitzero" doc:"For AMBIGUOUS_SURVEY: the surveys it may be for."`
}

// Difference is one difference between a response that was sent and the stored
// one.
type Difference struct {
	Pointer string     `json:"pointer" example:"/responses/socio_economic/household_size"`
	Stored  form.Value `json:"stored,omitzero" doc:"Absent when there is none."`
	Sent    form.Value `json:"sent,omitzero" doc:"Absent when there is none."`
	Masked  bool       `json:"masked,omitzero" doc:"This key may not read the two values."`
}

// SchemaName is the name that clients know it by.
func (Difference) SchemaName() string { return "ClashDifference" }

// Nouns of package api, by their names here.
type (
	Existing = api.ExistingResponse
)

// Taken refuses the id of a response of another survey, without saying more.
func Taken() error {
	return fault.New(fault.Conflict, ConflictCode, "Another response already has this id.").
		With(fault.Field{Pointer: "/responseId", Code: "taken", Detail: "A response of another survey has this id. Use a different id."})
}

// Differs refuses different content under the id of a stored response.
func Differs(now web.Current, all []Difference) error {
	f := fault.New(fault.Conflict, ConflictCode, "A response with this id is already stored, with different content.").
		With(fault.Field{
			Pointer: "/responseId", Code: "exists",
			Detail: fmt.Sprintf("See %s; its ETag is %s. If you collected or sent it, correct it with PUT and If-Match.", now.Href, now.ETag),
		})
	for _, d := range all {
		detail := "The value differs. It is not shown to this key."
		if !d.Masked {
			detail = fmt.Sprintf("Stored: %s; sent: %s.", inWords(d.Stored), inWords(d.Sent))
		}
		f = f.With(fault.Field{Pointer: d.Pointer, Code: DiffersCode, Detail: detail})
	}
	return f.Showing(Members{Current: &now, Differences: all})
}

// inWords is an answer in a sentence.
func inWords(v form.Value) string {
	if v.IsZero() {
		return "nothing"
	}
	text := strings.ToValidUTF8(string(v.Value[:min(len(v.Value), 200)]), "")
	if len(v.Value) > 200 {
		text += "…"
	}
	return text
}

// Duplicate refuses a second response of a household in a round. first is the
// existing one; nil for callers who may not know whose it is.
func Duplicate(first *Existing) error {
	f := fault.New(fault.Conflict, DuplicateCode, "The household already has a response in this round. To replace it, name it in supersedes.")
	if first == nil {
		return f.With(fault.Field{Pointer: "/householdId", Code: "exists", Detail: "Only the person who collected or sent it and keys with the scope responses:pii see which response that is."})
	}
	return f.With(
		fault.Field{Pointer: "/householdId", Code: "exists", Detail: "See " + first.Href + "."},
		fault.Field{Pointer: "/supersedes", Code: "required", Detail: fmt.Sprintf("To replace it, name it: %q.", first.ResponseID)},
	).Showing(Members{Existing: first})
}

// Locked refuses to change a response in a state, and says who can or what to do
// instead.
func Locked(state string) error {
	how := map[string]string{
		"verified":    "Changing it needs a key with the scope surveys:write, and a reason.",
		"superseded":  "Another response replaced it: correct the one that its supersededBy names.",
		"invalidated": "That is final. The household may be interviewed again: send a new response.",
		"redacted":    "Its content was taken out for good. The household may be interviewed again: send a new response.",
	}[state]
	return fault.New(fault.Conflict, "RESPONSE_LOCKED", fmt.Sprintf("A response that is %s cannot be changed like this. %s", state, how))
}

// Ambiguous is the fault that names the surveys a response may be for.
func Ambiguous(all []*survey.Open) error {
	f := fault.New(fault.Conflict, "AMBIGUOUS_SURVEY", "Several surveys use this template. Name the survey.")
	named := make([]api.SurveyCandidate, len(all))
	for i, o := range all {
		f = f.With(fault.Field{Pointer: "/surveyId", Code: "candidate", Detail: o.SurveyID})
		named[i] = api.SurveyCandidate{SurveyID: o.SurveyID, Href: "/v1/surveys/" + o.SurveyID} // ids of surveys need no escaping
	}
	return f.Showing(Members{Candidates: named})
}

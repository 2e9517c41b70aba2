package client

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Error is a refusal by the server. Find it with errors.As and switch on Code.
type Error struct {
	Status     int           // of HTTP
	Code       string        // stable name, such as KEY_NOT_FOUND; empty when no server of ours has answered
	Message    string        // a sentence for people
	Fields     []Field       // everything that is wrong with the request, where that is known
	RequestID  string        // finds the request in the server's log
	RetryAfter time.Duration // how long the server asks to wait; 0 when it does not say

	// Some codes add data for programs.
	Current     *Current             // of STALE_REVISION and RESPONSE_CONFLICT: what is stored, if known
	Differences []ResponseDifference // of RESPONSE_CONFLICT: in what the response that was sent differs from it
	Existing    *ExistingResponse    // of DUPLICATE_HOUSEHOLD_RESPONSE: the response the household has, if the key may know it
	Candidates  []SurveyCandidate    // of AMBIGUOUS_SURVEY: the surveys the response may be for
}

// Types of package api.
type (
	ExistingResponse = api.ExistingResponse
	SurveyCandidate  = api.SurveyCandidate
	Field            = api.Field
	Current          = api.Current
)

// Error gives status, code, message, fields and request id in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("hearth: " + strconv.Itoa(e.Status))
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, f := range e.Fields {
		b.WriteString(" [" + f.Pointer + ": " + f.Detail + "]")
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// CodeOf is the code of the refusal in err, "" when there is none.
func CodeOf(err error) string {
	if e := new(Error); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// errorBody is the union of the bodies refusals come with: problem+json of the
// /v1 routes, the body of the others, whose message may be a list, and the
// result of a DID that was not resolved.
type errorBody struct {
	Code      string         `json:"code"`
	Message   jsontext.Value `json:"message"`
	Detail    string         `json:"detail"`
	RequestID string         `json:"requestId"`
	Errors    []Field        `json:"errors"`

	Current     *Current             `json:"current"`
	Differences []ResponseDifference `json:"differences"`
	Existing    *ExistingResponse    `json:"existing"`
	Candidates  []SurveyCandidate    `json:"candidates"`

	Resolving struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	} `json:"didResolutionMetadata"`
}

// errorOf makes the error of an answer without success.
func errorOf(res *http.Response, body []byte) *Error {
	e := &Error{Status: res.StatusCode, RequestID: res.Header.Get(headRequestID), RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	var b errorBody
	if err := json.Unmarshal(body, &b); err != nil {
		// An answer of a proxy, or of area C, is only text.
		e.Message = strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), 200)]), ""))
		if e.Message == "" {
			e.Message = http.StatusText(res.StatusCode)
		}
		return e
	}
	e.Code, e.Fields, e.Message = b.Code, b.Errors, b.Detail
	e.Current, e.Differences, e.Existing, e.Candidates = b.Current, b.Differences, b.Existing, b.Candidates
	if e.Message == "" {
		e.Message = messageText(b.Message)
	}
	if r := b.Resolving; r.Error != "" {
		e.Code, e.Message = r.Error, r.Message
	}
	if e.RequestID == "" {
		e.RequestID = b.RequestID
	}
	return e
}

// messageText reads a message that is a text or a list of texts.
func messageText(v jsontext.Value) string {
	var one string
	if json.Unmarshal(v, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(v, &many) == nil {
		return strings.Join(many, " ")
	}
	return ""
}

// retryAfter reads seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

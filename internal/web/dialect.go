package web

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// ErrorWriter writes a fault in the dialect of one area. A fault of kind
// Internal never reaches it with a cause that a caller could read: writers
// print Code, Message and Fields only.
type ErrorWriter func(w http.ResponseWriter, r *http.Request, f *fault.Error)

// internal is all a caller learns about a mistake of ours.
func internal() *fault.Error {
	return fault.New(fault.Internal, "INTERNAL", "Internal error.")
}

// Status is the HTTP status of a kind.
func Status(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.WrongMethod:
		return http.StatusMethodNotAllowed
	case fault.TooSlow:
		return http.StatusRequestTimeout
	case fault.Conflict:
		return http.StatusConflict
	case fault.Stale:
		return http.StatusPreconditionFailed
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Unsupported:
		return http.StatusUnsupportedMediaType
	case fault.Unprocessable:
		return http.StatusUnprocessableEntity
	case fault.Unconditional:
		return http.StatusPreconditionRequired
	case fault.TooMany:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Problem is the dialect of areas A and B: RFC 9457 with the members that
// documented clients expect.
func Problem(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	f = f.Brief()
	status := Status(f.Kind)
	p := problemBody{problem: problem{
		Type: "/docs/errors#" + f.Code, Title: http.StatusText(status), Status: status,
		Detail: f.Message, Instance: fault.Pointer(r.URL.EscapedPath()), Code: f.Code, Message: f.Message,
		RequestID: RequestID(r.Context()), Error: problemError{Code: f.Code, Message: f.Message},
	}}
	for _, d := range f.Fields {
		name := dotted(d.Pointer)
		p.Errors = append(p.Errors, problemField{Pointer: d.Pointer, Code: d.Code, Detail: d.Detail, Field: name, Error: d.Detail})
		p.Error.Details = append(p.Error.Details, problemDetail{Field: name, Error: d.Detail})
	}
	h := w.Header()
	if f.Kind == fault.Unauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="hearth"`)
	}
	retryAfter(h, f)
	if f.Members != nil {
		p.Members, _ = Encode(f.Members) // a refusal without them is right, too
	}
	writeJSON(w, "application/problem+json", status, p)
}

// problemBody is a problem with the members of its fault.
type problemBody struct {
	problem
	Members jsontext.Value `json:",embed"`
}

type problem struct {
	_ struct{} `additionalProperties:"true"` // some codes have more members

	Type      string         `json:"type" doc:"Where this code is explained."`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	Instance  string         `json:"instance"`
	Code      string         `json:"code" doc:"Stable name of the error."`
	Message   string         `json:"message" doc:"The same text as in detail."`
	RequestID string         `json:"requestId"`
	Errors    []problemField `json:"errors,omitempty" doc:"Every field that is wrong."`
	Success   bool           `json:"success"`
	Error     problemError   `json:"error"`
}

type problemField struct {
	Pointer string `json:"pointer" doc:"JSON pointer into the body, or query/name, header/name, path/name."`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Field   string `json:"field" doc:"The pointer with dots."`
	Error   string `json:"error"`
}

type problemError struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details []problemDetail `json:"details,omitempty"`
}

type problemDetail struct {
	Field string `json:"field"`
	Error string `json:"error"`
}

// dotted turns "/sampling/size" into "sampling.size". A name that was cut
// stands in the pointer, and only there.
func dotted(pointer string) string {
	if strings.Contains(pointer, fault.Cut) {
		names := strings.Split(pointer, "/")
		for i, name := range names {
			if strings.HasSuffix(name, fault.Cut) {
				names[i] = fault.Cut
			}
		}
		pointer = strings.Join(names, "/")
	}
	s := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
}

// Nest is the dialect of area D: the body its published client reads, with
// the status inside. Errors of the framework's raw kind carry no "error".
func Nest(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	f = f.Brief()
	n := nest{StatusCode: Status(f.Kind), Message: f.Message}
	if f.Kind == fault.WrongMethod {
		n.StatusCode = http.StatusNotFound // its clients know no 405
	}
	switch f.Kind {
	case fault.Unauthenticated, fault.TooLarge, fault.TooMany:
	case fault.Internal:
		n.Message = "Internal server error"
	default:
		n.Error = http.StatusText(n.StatusCode)
	}
	if len(f.Fields) > 0 {
		lines := make([]string, len(f.Fields))
		for i, d := range f.Fields {
			lines[i] = d.Detail
		}
		n.Message = lines
	}
	retryAfter(w.Header(), f)
	writeJSON(w, "application/json; charset=utf-8", n.StatusCode, n)
}

type nest struct {
	Message    any    `json:"message"`
	Error      string `json:"error,omitempty"`
	StatusCode int    `json:"statusCode"`
}

// The two sentences of area C.
const (
	endInvalid     = "END Invalid input. Please try again."
	endUnavailable = "END Service temporarily unavailable. Please try again later."
)

// End is the dialect of area C: a closing screen. Gateways drop the session
// on any status but 200, so only a rate limit and a refusal keep theirs.
func End(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	status, text := http.StatusOK, endUnavailable
	switch f.Kind {
	case fault.Invalid, fault.TooLarge, fault.TooSlow, fault.Unsupported:
		text = endInvalid
	case fault.NotFound, fault.WrongMethod:
		status, text = Status(f.Kind), endInvalid
	case fault.TooMany, fault.Forbidden:
		status = Status(f.Kind)
	}
	if status != http.StatusOK {
		retryAfter(w.Header(), f)
	}
	writeBody(w, "text/plain; charset=utf-8", status, []byte(text))
}

func retryAfter(h http.Header, f *fault.Error) {
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
}

// writeJSON sends a body of our own making. It cannot fail to encode: the
// types hold strings and numbers, and bytes that are not text are replaced.
func writeJSON(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"statusCode":500,"message":"Internal server error"}`)
	}
	writeBody(w, contentType, status, body)
}

func writeBody(w http.ResponseWriter, contentType string, status int, body []byte) {
	h, text := w.Header(), [...]string{contentType, strconv.Itoa(len(body))}
	h["Content-Type"], h["Content-Length"] = text[0:1:1], text[1:2:2]
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone when this fails
}

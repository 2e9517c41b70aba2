package llm

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxRefusal = 16 << 10 // bytes read of an error's body
	maxLogged  = 300      // bytes of a server's text in our log
)

// complaint is the error object of the protocol; code is a number with some
// servers and a word with others.
type complaint struct {
	Message string         `json:"message"`
	Type    string         `json:"type"`
	Code    jsontext.Value `json:"code"`
}

// refused turns an answer that is not 200 into an Error.
func (c *Client) refused(resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	e := judge(resp.StatusCode, read(raw))
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	e.Err = c.clean(e.Err)
	return e
}

// inStream turns an error object inside a stream into an Error.
func inStream(raw jsontext.Value) error {
	p := read(raw)
	status, err := strconv.Atoi(p.code())
	if err != nil || status < 400 || status > 599 {
		status = http.StatusBadGateway
	}
	return judge(status, p)
}

// read finds the error object in a body: under "error", or the body itself.
func read(raw []byte) complaint {
	var outer struct {
		Error jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(raw, &outer, lenient()); err == nil && len(outer.Error) > 0 {
		raw = outer.Error
	}
	var p complaint
	if err := json.Unmarshal(raw, &p, lenient()); err != nil {
		p = complaint{Message: string(raw)}
	}
	return p
}

func (p complaint) code() string {
	return strings.Trim(string(p.Code), `"`)
}

// log is what the server said, short enough for a log line.
func (p complaint) log(status int) error {
	text := strings.ToValidUTF8(p.Message, "")
	if len(text) > maxLogged {
		text = strings.ToValidUTF8(text[:maxLogged], "") + "…"
	}
	return errors.New("status " + strconv.Itoa(status) + " " + p.code() + ": " + text)
}

// judge maps what a server said to a kind. Only our own sentences leave it.
func judge(status int, p complaint) *Error {
	e := &Error{Kind: Unknown, Status: status, Detail: "The model refused the request.", Err: p.log(status)}
	code := p.code() + " " + p.Type
	switch {
	case status == http.StatusPaymentRequired, strings.Contains(code, "insufficient_quota"), strings.Contains(code, "billing"):
		e.Kind, e.Detail = Billing, "The account of the model has no credit."
	case status == http.StatusUnauthorized, status == http.StatusForbidden, strings.Contains(code, "invalid_api_key"):
		e.Kind, e.Detail = Auth, "The model does not accept our key."
	case status == http.StatusTooManyRequests:
		e.Kind, e.Retryable, e.Detail = RateLimit, true, "The model receives too many requests."
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		e.Kind, e.Retryable, e.Detail = Timeout, true, "The model did not answer in time."
	case status >= http.StatusInternalServerError:
		e.Kind, e.Retryable, e.Detail = Server, true, "The model server has a problem."
	case tooLong(code, p.Message, status):
		e.TooLong, e.Detail = true, "The conversation is too long for the model."
	case status == http.StatusNotFound:
		e.Detail = "The model is not there."
	}
	return e
}

// tooLong knows the words in which servers say that a conversation does not
// fit.
func tooLong(code, message string, status int) bool {
	if status == http.StatusRequestEntityTooLarge || strings.Contains(code, "context_length_exceeded") {
		return true
	}
	message = strings.ToLower(message)
	for _, words := range []string{"context length", "context window", "maximum context", "too many tokens", "prompt is too long", "context size"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// retryAfter reads seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

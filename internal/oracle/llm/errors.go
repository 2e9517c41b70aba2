package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind is a documented kind of failure.
type Kind string

// The kinds.
const (
	Billing   Kind = "billing"
	RateLimit Kind = "rate_limit"
	Auth      Kind = "auth"
	Timeout   Kind = "timeout"
	Server    Kind = "server"
	Network   Kind = "network"
	Unknown   Kind = "unknown"
)

// Error is a failure of a model. Detail is one of our own sentences, safe for
// anybody; the cause is for the log.
type Error struct {
	Kind       Kind
	Status     int  // of the server's answer; 0: there was none
	Retryable  bool // the same request may succeed later
	Detail     string
	RetryAfter time.Duration // when the server said so
	TooLong    bool          // the conversation does not fit the model
	Err        error         // the cause, for the log only
}

// Error gives the text for the log.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("model: %s: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("model: %s: %s", e.Kind, e.Detail)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Failure is an error in the form of an error frame: it contains no secret, no
// internal text and nothing a model server said.
type Failure struct {
	Text      string // for the user
	Kind      Kind
	Status    int
	Retryable bool
	Detail    string
}

// Explain turns any error of a turn into a Failure. If our own account has no
// money or no rights, that concerns only the operator: callers see unknown,
// 500.
func Explain(err error) Failure {
	var e *Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = &Error{Kind: Timeout, Status: http.StatusGatewayTimeout, Retryable: true, Detail: "The turn took too long."}
	case errors.Is(err, context.Canceled):
		e = &Error{Kind: Unknown, Status: 499, Retryable: true, Detail: "The turn was stopped."}
	default:
		e = &Error{Kind: Unknown, Status: http.StatusInternalServerError, Detail: "Internal error."}
	}
	f := Failure{Kind: e.Kind, Status: e.Status, Retryable: e.Retryable, Detail: e.Detail}
	switch e.Kind {
	case RateLimit:
		f.Text = "The model is receiving too many requests right now. Please try again in a moment."
	case Timeout:
		f.Text = "The model took too long to answer. Please try again."
	case Server:
		f.Text = "The model server has a problem. Please try again in a moment."
	case Network:
		f.Text = "The connection to the model was lost. Please try again."
	case Billing, Auth:
		f = Failure{Kind: Unknown, Status: http.StatusInternalServerError, Detail: "Internal error.", Text: unknownText}
	default:
		f.Text = unknownText
		if e.TooLong {
			f.Text = "This conversation is too long for the model. Please start a new session."
		}
	}
	return f
}

const unknownText = "Something went wrong while answering. Please try again."

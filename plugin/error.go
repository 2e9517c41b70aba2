package plugin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error is a failure whose message users and models may see. Any other error is
// logged and shown as a failure without its text.
type Error struct {
	Status  int // of the answer of a route: 400 to 599
	Message string
	// Details list everything that is wrong with a request, a sentence each. They
	// replace Message in the answer of a route.
	Details []string
	// Members are further members of the answer, for programs: {"claims": […]}.
	Members map[string]any
}

// Error returns the message.
func (e *Error) Error() string {
	if len(e.Details) > 0 {
		return e.Message + ": " + strings.Join(e.Details, "; ")
	}
	return e.Message
}

// Invalid is the error of a request or a call that is wrong: 400.
func Invalid(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// Unavailable is the error of something that may work later: 503.
func Unavailable(format string, args ...any) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Message: fmt.Sprintf(format, args...)}
}

// explain says what is wrong with JSON and where, and never quotes it.
func explain(err error) string {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a member appears twice"
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not valid JSON at position %d", syntax.ByteOffset)
	case errors.As(err, &meaning) && errors.Is(meaning, json.ErrUnknownName):
		return fmt.Sprintf("there is no member %s", meaning.JSONPointer)
	case errors.As(err, &meaning) && meaning.JSONPointer != "":
		return fmt.Sprintf("%s must be of type %s", meaning.JSONPointer, meaning.GoType)
	}
	return "it is not of the form that is wanted"
}

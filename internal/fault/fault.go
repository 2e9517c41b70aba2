// Package fault is the one error type that reaches callers. A fault has a
// Kind our own code switches on, a Code clients switch on, a Message people
// read, and a cause only the log sees. Any other error is internal: its text
// never leaves the process.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the category of a fault. The zero value is Internal, so an
// unclassified error is never shown to a caller.
type Kind int

// The kinds. The HTTP edge alone turns them into status codes.
const (
	Internal        Kind = iota // our own mistake; 500
	Invalid                     // the request is wrong; 400
	Unauthenticated             // we do not know who calls; 401
	Forbidden                   // we know, and they may not; 403
	NotFound                    // missing, or somebody else's; 404
	WrongMethod                 // the route takes other methods; 405
	TooSlow                     // the body did not arrive in time; 408
	Conflict                    // it clashes with what is stored; 409
	Stale                       // If-Match names an old revision; 412
	TooLarge                    // the body is over its limit; 413
	Unsupported                 // a media type or encoding we do not read; 415
	Unprocessable               // well-formed, but it cannot be done; 422
	Unconditional               // If-Match is missing where it is needed; 428
	TooMany                     // a rate limit; 429
	Unavailable                 // try again later; 503
)

// Field names one place in the input and what is wrong with it.
type Field struct {
	Pointer string // JSON pointer into the body, or "query/limit", "header/If-Match", "path/id"
	Code    string // lower_snake, stable: "required", "out_of_range", …
	Detail  string // a sentence for people
}

// Error is a fault. Make one with New.
type Error struct {
	Kind       Kind
	Code       string        // UPPER_SNAKE, part of the API
	Message    string        // a sentence for people; never holds internals
	Fields     []Field       // every field that is wrong, all at once
	Members    any           // a struct with further members of the body, for programs; nil for none
	RetryAfter time.Duration // when to try again; 0 says nothing
	Err        error         // the cause, for the log only
}

// New makes a fault. Code is UPPER_SNAKE and never renamed once released.
//
//go:noinline // as with Checks.Add: a thousand places
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Error returns the text for the log: code, message and cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrap returns a copy of e with cause err.
func (e *Error) Wrap(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// With returns a copy of e that names fields. Their pointers are cut as
// Pointer cuts them.
func (e *Error) With(fields ...Field) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), fields...)
	for i := len(e.Fields); i < len(c.Fields); i++ {
		c.Fields[i].Pointer = Pointer(c.Fields[i].Pointer)
	}
	return &c
}

// Showing returns a copy of e whose body also has the members of a struct: data
// for programs, which people read in Message and Fields. Dialects without room
// for them leave them out.
func (e *Error) Showing(members any) *Error {
	c := *e
	c.Members = members
	return &c
}

// After returns a copy of e that asks the caller to wait d.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// As finds the fault in err's chain. It returns nil when there is none: the
// error is then internal.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// KindOf is the kind of the fault in err's chain, Internal without one.
func KindOf(err error) Kind {
	if e := As(err); e != nil {
		return e.Kind
	}
	return Internal
}

// CodeOf is the code of the fault in err's chain, "" without one.
func CodeOf(err error) string {
	if e := As(err); e != nil {
		return e.Code
	}
	return ""
}

// Checks gathers every wrong field of one input, so that a caller learns all
// of them at once. The zero value is ready.
type Checks struct{ fields []Field }

// Add notes one wrong field. Its pointer is cut as Pointer cuts it.
//
//go:noinline // it stands in nine hundred places, and copies of it took 0.3 MB
func (c *Checks) Add(pointer, code, detail string) {
	c.fields = append(c.fields, Field{Pointer: Pointer(pointer), Code: code, Detail: detail})
}

// Require notes a missing value unless ok is true.
func (c *Checks) Require(ok bool, pointer string) {
	if !ok {
		c.Add(pointer, "required", "This member is required.")
	}
}

// OK reports whether nothing was noted.
func (c *Checks) OK() bool { return len(c.fields) == 0 }

// Fields returns what was noted so far.
func (c *Checks) Fields() []Field { return c.fields }

// Err is nil when nothing was noted, else an Invalid fault with all fields.
func (c *Checks) Err(code, message string) error {
	if len(c.fields) == 0 {
		return nil
	}
	return New(Invalid, code, message).With(c.fields...)
}

package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// Inside is a caller for whom this process itself makes a request. No credential
// goes with such a request: the gate looks here first, and checks again whether
// the original credential still counts.
type Inside struct {
	// Caller is the caller, with a key or as Signer of DID; zero: unknown, without
	// rights.
	Caller Caller
	// Whole means that a caller without a key has all their own rights: by an
	// invocation, or a delegation of everything.
	Whole bool
	// Ends is when the credential ends; zero: it does not.
	Ends time.Time
	// Depth counts the requests of this kind around this one.
	Depth int
}

type insideKey struct{}

// InsideFrom returns the caller for whom this process itself makes the request
// of ctx; ok is false for a request from outside.
func InsideFrom(ctx context.Context) (in Inside, ok bool) {
	in, ok = ctx.Value(insideKey{}).(Inside)
	return in, ok
}

// ByInside marks r as a request made by this process for a caller. Only code of
// this process can do that: nothing that is sent becomes such a context.
func ByInside(r *http.Request, in Inside) *http.Request {
	ctx := context.WithValue(r.Context(), insideKey{}, in)
	ctx = context.WithValue(ctx, requestKey{}, &request{}) // nothing of the request around it
	return r.Clone(ctx)
}

// ErrAnswerTooLarge means that a handler's answer exceeds the limit of Answer.
var ErrAnswerTooLarge = errors.New("the answer is too large")

// Answer lets a handler of this process answer r, as if it had come from addr.
// The answer has at most limit bytes; 0: any.
func Answer(h http.Handler, r *http.Request, addr netip.Addr, limit int) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }() // as a transport does; nothing is left in it
	r.RequestURI, r.RemoteAddr, r.Host = r.URL.RequestURI(), netip.AddrPortFrom(addr, 1).String(), r.URL.Host
	w := &answer{head: http.Header{}, limit: limit}
	h.ServeHTTP(w, r)
	switch err := r.Context().Err(); {
	case err != nil:
		return nil, err // the answer may be truncated
	case w.full:
		return nil, ErrAnswerTooLarge
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.head, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answer keeps what a handler writes.
type answer struct {
	head   http.Header
	status int // 0 until it is written
	body   bytes.Buffer
	limit  int
	full   bool
}

// Header is the head of the answer.
func (a *answer) Header() http.Header { return a.head }

// WriteHeader sets the status; the first one counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
}

// Write adds to the body.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.limit > 0 && a.body.Len()+len(b) > a.limit {
		a.full = true
		return 0, ErrAnswerTooLarge
	}
	return a.body.Write(b)
}

// Flush does nothing: the answer is read as a whole.
func (a *answer) Flush() {}

// Package ucan checks and mints UCAN 0.9.1 tokens in the encoding of the ucanto
// JavaScript libraries: a CARv1 in base64 whose dag-cbor blocks hold the tokens, signed
// with Ed25519 over their dag-json text.
//
// It promises to accept what the published clients mint and to be stricter only where
// they cannot notice: every block has the CID it claims, a token has one spelling, "not
// before" and attenuation are checked everywhere, and a delegation must expire. It holds
// no HTTP and no storage; it asks a Resolver for keys, such as a Ring, and a function for
// the time. This version of UCAN has no revocation lists, and callers take care of single
// use (Grant.Once).
package ucan

import (
	"errors"
	"fmt"
)

// Limits of tokens. A token beyond one is Malformed, or TooLarge.
const (
	MaxText         = 64 << 10 // characters of a token
	maxDepth        = 8        // tokens from a leaf to its root
	maxTokens       = 32       // tokens of one archive
	maxCapabilities = 256      // capabilities of all tokens of one chain
	maxResolved     = 8        // DIDs asked of the resolver for one token
	maxKeys         = 16       // keys tried for one DID
)

// Kind is the reason of a refusal, for logs and metrics; clients learn less.
type Kind string

// The kinds.
const (
	Missing       Kind = "missing"        // no usable token was sent at all
	TooLarge      Kind = "too_large"      // longer than MaxText
	Malformed     Kind = "malformed"      // not a token, or not in its one spelling
	WrongAudience Kind = "wrong_audience" // for somebody else
	Expired       Kind = "expired"        // it, or a proof it needs, has ended
	NotYet        Kind = "not_yet"        // its time has not come
	Endless       Kind = "endless"        // it has no end where one is needed
	TooLong       Kind = "too_long"       // its end is too far away
	NotCapable    Kind = "not_capable"    // it does not hold the capability
	UnknownIssuer Kind = "unknown_issuer" // no key of the issuer is known
	BadSignature  Kind = "bad_signature"  // no key of the issuer made it
	MissingProof  Kind = "missing_proof"  // a proof is named but not included
	BrokenChain   Kind = "broken_chain"   // a proof was given to somebody else, or the chain is too long
	Escalated     Kind = "escalated"      // it gives more than its proofs
	Untrusted     Kind = "untrusted"      // no chain leads to a trusted root
	Throttled     Kind = "throttled"      // too many failures; try later
	Unavailable   Kind = "unavailable"    // keys could not be looked up; try later
)

// The two texts of a 401, the same on HTTP and sockets.
const (
	TextMissing = "Missing UCAN authentication: provide Authorization: Bearer <invocation> with X-Auth-Type: ucan, or an x-ucan-delegation header"
	TextInvalid = "Invalid UCAN invocation"
)

// Error is a refusal. Detail and Err are for the log.
type Error struct {
	Kind   Kind
	Detail string
	Err    error
}

// Error returns the text for the log.
func (e *Error) Error() string {
	text := "ucan " + string(e.Kind)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Public is the text for a refused caller: TextMissing when nothing usable was
// sent, else TextInvalid.
func (e *Error) Public() string {
	if e.Kind == Missing {
		return TextMissing
	}
	return TextInvalid
}

// Reason says why a caller's own token is refused, where more may be said than
// Public: what the token says, and what it should say. An unknown DID and a key
// that does not belong to it give the same text, so that nobody learns which DIDs
// are known. "" says nothing.
func (e *Error) Reason() string {
	switch e.Kind {
	case TooLarge, Malformed:
		return "it cannot be read"
	case WrongAudience:
		return "its audience is " + e.Detail
	case Expired:
		return "it, or a proof in it, has expired"
	case NotYet:
		return "its time has not come yet"
	case Endless:
		return "it must expire"
	case TooLong:
		return "it lives " + e.Detail
	case NotCapable:
		return "it must hold the capability * on " + DefaultResource
	case UnknownIssuer, BadSignature:
		return "it is not signed with a key of its issuer that counts here"
	}
	return ""
}

// KindOf is the kind of the refusal in err's chain, "" without one.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func refuse(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func malformed(err error) error { return &Error{Kind: Malformed, Err: err} }

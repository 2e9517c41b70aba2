// Package sms sends text messages. A message is stored in the transaction that
// wants it sent, and a job sends it; so it goes out exactly when that
// transaction commits, and a provider that is down only delays it. After a
// crash between the provider's answer and our note of it, the message is sent
// again under the same id.
//
// Numbers and texts are sealed with the server's own key, and both are removed
// as soon as the message has been sent or given up. What remains is that there
// was a message, when, and the provider's id for it.
package sms

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// MaxText is the longest text, in characters: three parts of the plain
// alphabet.
const MaxText = 459

// Message is a text for a number.
type Message struct {
	ID    string // given by Enqueue; a provider that sees it twice sends it once
	To    string // E.164
	Text  string // at most MaxText characters
	About string // DID of whose it is, so that it is erased with them; may be empty
}

// phoneForm is E.164.
var phoneForm = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)

// Validate finds programming mistakes.
func (m Message) Validate() error {
	switch n := utf8.RuneCountInString(m.Text); {
	case !phoneForm.MatchString(m.To):
		return errors.New("sms: the number is not of the form +254700000000")
	case n == 0 || n > MaxText || !utf8.ValidString(m.Text):
		return fmt.Errorf("sms: the text has %d characters, want 1 to %d", n, MaxText)
	}
	return nil
}

// Sender hands messages to a provider. It returns the provider's name for the
// message, if it gives one. A fault of kind Invalid means that this message
// will never be accepted; after any other error it may be later. Errors hold
// neither number nor text.
type Sender interface {
	Send(ctx context.Context, m Message) (id string, err error)
}

// Status is the state of a message.
type Status string

// The statuses. The last two are final.
const (
	Queued Status = "queued"
	Sent   Status = "sent"
	Failed Status = "failed"
)

// refused is the fault for a message a provider will never take.
func refused(message string) error { return fault.New(fault.Invalid, "SMS_REFUSED", message) }

// unavailable is the fault for a provider that may take it later.
func unavailable(message string, cause error) error {
	return fault.New(fault.Unavailable, "SMS_UNAVAILABLE", message).Wrap(cause)
}

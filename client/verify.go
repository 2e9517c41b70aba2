package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tolerance is the maximum age of a message, and how far ahead its time may be:
// longer than clocks differ, too short to be of use to an attacker who has
// recorded one.
const tolerance = 5 * time.Minute

// ErrSignature means that a message was not signed with the secret, or not
// recently.
var ErrSignature = errors.New("the message does not come from the server, or not now")

// WebhookVerify checks that a message came from the server that has the secret
// and that it is not older than five minutes. Pass the body as it was received,
// before anything has read it. While a secret is being replaced call it with
// each of the two. A message may come twice: drop repeats by the header
// webhook-id.
func WebhookVerify(secret string, header http.Header, body []byte) error {
	return verify(secret, header, body, time.Now())
}

func verify(secret string, header http.Header, body []byte, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return errors.New("the secret is not whsec_ and base64")
	}
	id, at := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if id == "" || err != nil {
		return fmt.Errorf("%w: webhook-id or webhook-timestamp is missing", ErrSignature)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("%w: it is from another time", ErrSignature)
	}
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(id + "." + at + ".")) // a hash never fails
	_, _ = h.Write(body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(h.Sum(nil)))
	for one := range strings.FieldsSeq(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(one), want) {
			return nil
		}
	}
	return fmt.Errorf("%w: no signature fits", ErrSignature)
}

// WebhookMessage is what a webhook receives: a CloudEvent.
type WebhookMessage struct {
	ID      string      `json:"id"`
	Source  string      `json:"source"`
	Type    string      `json:"type"` // of the event, or webhook.ping
	Subject string      `json:"subject"`
	Time    time.Time   `json:"time"`
	Data    WebhookData `json:"data"`
}

// WebhookData is what happened.
type WebhookData struct {
	Seq       int64          `json:"seq"`
	Subject   string         `json:"subject"`
	Revision  int64          `json:"revision"`
	Actor     string         `json:"actor"`
	RequestID string         `json:"requestId"`
	Details   jsontext.Value `json:"details,omitzero"` // a JSON object, or nothing
}

// WebhookParse checks a message as WebhookVerify does and reads it.
func WebhookParse(secret string, header http.Header, body []byte) (*WebhookMessage, error) {
	if err := WebhookVerify(secret, header, body); err != nil {
		return nil, err
	}
	m := new(WebhookMessage)
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	return m, nil
}

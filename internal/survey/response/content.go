package response

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// contentVersion is how contentIds are made now. Those of responses without a
// content are the CID of the answers that anybody may read.
const contentVersion = 2

// saltSize is the bytes of a salt: too many to try them all.
const saltSize = 16

// hashed are the members that a contentId is the CID of.
type hashed struct {
	DurationSec float64 `json:"durationSec,omitzero"`
	Named       string  `json:"named,omitzero"`
	Open        string  `json:"open"`
	Personal    string  `json:"personal,omitzero"`
	StartedAt   string  `json:"startedAt,omitzero"`
	Timestamp   string  `json:"timestamp"`
	Version     int     `json:"version"`
	Who         string  `json:"who"`
}

// sentBy is what the hash of the people behind a response is made of.
type sentBy struct {
	Collector   string `json:"collector"`
	HouseholdID string `json:"householdId"`
}

// identify gives the head its contentId, and every reader of the response what
// they need to check as much of it as they may know. public are the answers
// anybody may read; whole is everything, "" when none of it is about a person.
// salt is that of the hash over whole: it is sealed together with the personal
// part, and destroyed with it.
func (h *Head) identify(f *form.Form, public, whole jsontext.Value) (salt string, err error) {
	open := public
	if bytes.Contains(public, []byte(`"did:`)) { // it may name a household
		if open, err = form.Unnamed(f, public); err != nil {
			return "", err
		}
	}
	c := &Content{Version: contentVersion, WhoSalt: newSalt()}
	if c.Who, err = keyed(c.WhoSalt, sentBy{h.Collector, h.HouseholdID}); err != nil {
		return "", err
	}
	sum := sha256.Sum256(open)
	if c.Open = hex.EncodeToString(sum[:]); !bytes.Equal(open, public) {
		if c.Named, err = keyed(c.WhoSalt, public); err != nil {
			return "", err
		}
	}
	if len(whole) > 0 {
		salt = newSalt()
		if c.Personal, err = keyed(salt, whole); err != nil {
			return "", err
		}
	}
	text, err := canonical(hashed{
		DurationSec: h.DurationSec, Named: c.Named, Open: c.Open, Personal: c.Personal, StartedAt: written(h.StartedAt), Timestamp: written(h.Timestamp),
		Version: c.Version, Who: c.Who,
	})
	h.Content, h.ContentID = c, form.ContentID(text)
	return salt, err
}

// wholeOf is what the hash of everything is made of.
func wholeOf(answers jsontext.Value, at *Location) (jsontext.Value, error) {
	return canonical(struct {
		Location  *Location      `json:"location,omitzero"`
		Responses jsontext.Value `json:"responses"`
	}{at, answers})
}

// written is a time as records have it; "" for none.
func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(web.TimeFormat)
}

func newSalt() string {
	b := make([]byte, saltSize)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// keyed is the HMAC-SHA-256 of a value as RFC 8785 writes it.
func keyed(salt string, v any) (string, error) {
	key, err := hex.DecodeString(salt)
	if err != nil {
		return "", fmt.Errorf("read salt: %w", err)
	}
	text, err := canonical(v)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// canonical is a value as RFC 8785 writes it.
func canonical(v any) (jsontext.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode content: %w", err)
	}
	out := jsontext.Value(text)
	switch v.(type) {
	case hashed, sentBy: // their members stand in that order, and are short texts and numbers
		return out, nil
	}
	if err := out.Canonicalize(); err != nil {
		return nil, fmt.Errorf("encode content: %w", err)
	}
	return out, nil
}

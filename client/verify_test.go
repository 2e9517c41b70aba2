package client

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// The example of the Standard Webhooks specification.
const (
	specSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	specBody   = `{"test": 2432232314}`
	specSign   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func specHeader() http.Header {
	h := http.Header{}
	h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", specSign)
	return h
}

func TestVerify(t *testing.T) {
	t.Parallel()
	at := time.Unix(1614265330, 0)
	for name, tt := range map[string]struct {
		secret string
		change func(http.Header)
		body   string
		now    time.Time
		ok     bool
	}{
		"good":              {specSecret, nil, specBody, at, true},
		"second of two":     {specSecret, func(h http.Header) { h.Set("webhook-signature", "v1,AAAA "+specSign) }, specBody, at, true},
		"a little late":     {specSecret, nil, specBody, at.Add(5 * time.Minute), true},
		"too late":          {specSecret, nil, specBody, at.Add(5*time.Minute + time.Second), false},
		"too early":         {specSecret, nil, specBody, at.Add(-6 * time.Minute), false},
		"other body":        {specSecret, nil, specBody + " ", at, false},
		"other id":          {specSecret, func(h http.Header) { h.Set("webhook-id", "msg_x") }, specBody, at, false},
		"other secret":      {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx", nil, specBody, at, false},
		"other version":     {specSecret, func(h http.Header) { h.Set("webhook-signature", "v2"+specSign[2:]) }, specBody, at, false},
		"no signature":      {specSecret, func(h http.Header) { h.Del("webhook-signature") }, specBody, at, false},
		"no id":             {specSecret, func(h http.Header) { h.Del("webhook-id") }, specBody, at, false},
		"time not a number": {specSecret, func(h http.Header) { h.Set("webhook-timestamp", "x") }, specBody, at, false},
	} {
		h := specHeader()
		if tt.change != nil {
			tt.change(h)
		}
		err := verify(tt.secret, h, []byte(tt.body), tt.now)
		if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: verify() = %v, want ok %v", name, err, tt.ok)
		}
	}
	for _, secret := range []string{"", "whsec_", "whsec_***"} {
		if err := verify(secret, specHeader(), []byte(specBody), at); err == nil || errors.Is(err, ErrSignature) {
			t.Errorf("secret %q: %v, want an error about the secret", secret, err)
		}
	}
	if _, err := WebhookParse(specSecret, specHeader(), []byte(specBody)); !errors.Is(err, ErrSignature) {
		t.Errorf("an old message was taken: %v", err)
	}
}

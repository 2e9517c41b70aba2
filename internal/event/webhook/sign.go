package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_"
	minSecret    = 24 // bytes, as Standard Webhooks asks
	maxSecret    = 64
)

var errSecret = errors.New("not a webhook secret")

// newSecret makes a secret in the form of Standard Webhooks.
func newSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: the program ends instead
	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// parseSecret gives the bytes that sign.
func parseSecret(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, secretPrefix)
	if !ok || strings.ContainsAny(rest, "\r\n") { // the decoder skips line ends
		return nil, errSecret
	}
	b, err := base64.StdEncoding.Strict().DecodeString(rest)
	if err != nil || len(b) < minSecret || len(b) > maxSecret {
		return nil, errSecret
	}
	return b, nil
}

// sign makes the header webhook-signature: one signature for each secret that
// is valid now, so that a receiver may change over at its own pace.
func sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	parts := make([]string, len(secrets))
	for i, key := range secrets {
		h := hmac.New(sha256.New, key)
		_, _ = h.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + ".")) // a hash never fails
		_, _ = h.Write(body)
		parts[i] = "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	return strings.Join(parts, " ")
}

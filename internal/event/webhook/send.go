package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

const (
	maxError = 256      // characters of an error that is kept
	maxBody  = 1000     // bytes of a message and of its answer that are shown
	maxDrain = 64 << 10 // bytes of an answer that are read, to use the connection again
)

// attempt is what became of sending a message once.
type attempt struct {
	status int           // HTTP status, 0 without an answer
	err    string        // in our words; never the receiver's body
	answer string        // the beginning of that body, without secrets
	cause  error         // for the log only: it may reveal inside networks
	wait   time.Duration // what Retry-After asks for
	took   time.Duration
	at     time.Time // when it ended
}

func (a attempt) ok() bool { return a.status >= 200 && a.status < 300 }

// why is the log's text about a failure.
func (a attempt) why() string {
	if a.cause != nil {
		return a.cause.Error()
	}
	return a.err
}

// sender signs messages and posts them.
type sender struct {
	key     secret.Key
	client  Client
	log     *slog.Logger
	now     func() time.Time
	timeout time.Duration // of one message
}

// seal hides a secret from readers of the store.
func (s *sender) seal(h *hook, text string) []byte {
	return s.key.Seal("webhook", h.ws+"/"+h.ID, []byte(text))
}

// secrets opens what signs for a webhook now.
func (s *sender) secrets(h *hook) ([][]byte, error) {
	sealed := [][]byte{h.secret}
	if h.oldSecret != nil && s.now().Before(h.oldUntil) {
		sealed = append(sealed, h.oldSecret)
	}
	out := make([][]byte, len(sealed))
	for i, b := range sealed {
		text, err := s.key.Open("webhook", h.ws+"/"+h.ID, b)
		if err != nil {
			return nil, fmt.Errorf("open webhook secret: %w", err)
		}
		if out[i], err = parseSecret(string(text)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// send posts a message to a webhook, once.
func (s *sender) send(ctx context.Context, h *hook, m message) attempt {
	start := s.now()
	secrets, err := s.secrets(h)
	if err != nil {
		s.log.ErrorContext(ctx, "sign webhook", "webhook", h.ID, "err", err.Error())
		return attempt{err: "the secret of the webhook cannot be opened", at: start}
	}
	timed, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(timed, http.MethodPost, h.URL, bytes.NewReader(m.body))
	if err != nil {
		return attempt{err: "the URL is not valid", at: start}
	}
	req.Header.Set("Content-Type", "application/cloudevents+json")
	req.Header.Set("User-Agent", "Hearth-Webhook/1")
	req.Header.Set("webhook-id", m.id)
	ops.Inject(ctx, req.Header) // a ping belongs to the trace of the request for it
	req.Header.Set("webhook-timestamp", strconv.FormatInt(start.Unix(), 10))
	req.Header.Set("webhook-signature", sign(secrets, m.id, start, m.body))
	a := exchange(s.client, req)
	a.answer = hide(a.answer, secrets)
	a.at = s.now()
	a.took = a.at.Sub(start)
	return a
}

func exchange(c Client, req *http.Request) attempt {
	resp, err := c.Do(req)
	if err != nil {
		return attempt{err: explain(err), cause: withoutURL(err)}
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody+utf8.UTFMax)) // half an answer is one too
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	a := attempt{status: resp.StatusCode, answer: legible(said)}
	if resp.Request != nil && resp.Request.Method != http.MethodPost {
		// A redirect turned the message into a GET: nobody has read it.
		return attempt{err: "the receiver redirects"}
	}
	if !a.ok() {
		a.err = outbound.Printable("HTTP "+strconv.Itoa(resp.StatusCode)+" "+http.StatusText(resp.StatusCode), maxError)
		a.wait = retryAfter(resp.Header.Get("Retry-After"))
	}
	return a
}

// legible is the beginning of a body as text, without invalid parts; a body
// that is not text at all is not shown.
func legible(body []byte) string {
	if bytes.IndexByte(body, 0) >= 0 {
		return ""
	}
	if len(body) > maxBody {
		body = body[:maxBody]
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(body), ""))
}

// What a receiver must not have us keep for it: secrets of webhooks, and what
// looks like a credential of its own.
var credentials = regexp.MustCompile(`(?i)whsec_[A-Za-z0-9+/=_-]*|hearth_[a-z2-7]{10}_[A-Za-z0-9_-]*|\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)

// hide removes secrets from a text of the receiver.
func hide(text string, secrets [][]byte) string {
	const hidden = "[hidden]"
	for _, key := range secrets {
		text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString(key), hidden)
	}
	return credentials.ReplaceAllString(text, hidden)
}

// withoutURL takes the URL off an error: its path may be a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// retryAfter reads seconds; a date is not worth its clock troubles.
func retryAfter(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 7*24*3600)) * time.Second
}

// unreachable is one text for an unknown name and one that leads inside,
// because separate texts would reveal which names our networks have.
const unreachable = "the host was not found, or may not be called; an operator can allow it with HEARTH_OUTBOUND_ALLOW"

// explain says in a few words why there was no answer. The error itself may
// hold addresses of inside networks.
func explain(err error) string {
	var (
		record tls.RecordHeaderError
		cert   *tls.CertificateVerificationError
	)
	switch f := fault.As(err); {
	case outbound.HostTrouble(err):
		return unreachable
	case f != nil:
		return outbound.Printable(f.Code+": "+f.Message, maxError)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &record), errors.As(err, &cert):
		return "the TLS connection could not be made"
	}
	return "the connection failed"
}

package sms

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Client sends requests; outbound.Client is one.
type Client interface {
	Do(req *http.Request) (*http.Response, error)
}

const (
	sendTimeout = 20 * time.Second
	maxAnswer   = 64 << 10 // bytes of an answer that are read
	maxKept     = 200      // characters of a provider's word that are kept
)

// exchange sends a request and reads the answer. Its errors hold neither the
// URL, whose path may be a secret, nor what the provider said.
func exchange(c Client, req *http.Request) (int, []byte, error) {
	resp, err := c.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, nil, unavailable("The provider of messages cannot be reached.", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, unavailable("The answer of the provider of messages broke off.", err)
	}
	if resp.Request != nil && resp.Request.Method != req.Method {
		return 0, nil, refused("The provider of messages redirects.")
	}
	return resp.StatusCode, body, nil
}

// judge turns a status into an error, nil for success. Trouble that others can
// mend is worth another try, a refusal is not.
func judge(status int) error {
	text := fmt.Sprintf("The provider of messages answered HTTP %d.", status)
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusGone:
		return refused(text)
	}
	return unavailable(text, nil)
}

// Webhook is a Sender that posts {"id","to","text"} to a URL of the operator's,
// signed like webhooks of events: headers webhook-id, webhook-timestamp and
// webhook-signature (v1, HMAC-SHA-256 over id.timestamp.body). Any 2xx accepts
// the message; {"id": …} in the answer is kept.
type Webhook struct {
	Client Client
	URL    string
	Secret []byte
	Now    func() time.Time // time.Now by default
}

var _ Sender = (*Webhook)(nil)

// Send posts one message.
func (w *Webhook) Send(ctx context.Context, m Message) (string, error) {
	body, err := json.Marshal(struct {
		ID   string `json:"id"`
		To   string `json:"to"`
		Text string `json:"text"`
	}{m.ID, m.To, m.Text})
	if err != nil {
		return "", refused("The message cannot be written as JSON.")
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return "", refused("The URL for messages is not valid.")
	}
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	at := strconv.FormatInt(now().Unix(), 10)
	mac := hmac.New(sha256.New, w.Secret)
	mac.Write([]byte(m.ID + "." + at + "."))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", m.ID)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	status, answer, err := exchange(w.Client, req)
	if err != nil {
		return "", err
	}
	if err := judge(status); err != nil {
		return "", err
	}
	var named struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(answer, &named) // an answer without a name is fine
	return named.ID, nil
}

// africasTalking is where the provider listens.
const africasTalking = "https://api.africastalking.com"

// AfricasTalking is a Sender over the bulk messages of Africa's Talking.
type AfricasTalking struct {
	Client   Client
	Base     string // https://api.africastalking.com by default; the sandbox has its own
	Username string
	APIKey   string
	From     string // short code or sender id; the provider's own when empty
}

var _ Sender = (*AfricasTalking)(nil)

// atAnswer is the provider's answer for each recipient.
type atAnswer struct {
	Data struct {
		Recipients []struct {
			StatusCode int    `json:"statusCode"`
			Status     string `json:"status"`
			MessageID  string `json:"messageId"`
		} `json:"Recipients"`
	} `json:"SMSMessageData"`
}

// Send posts one message.
func (a *AfricasTalking) Send(ctx context.Context, m Message) (string, error) {
	form := url.Values{"username": {a.Username}, "to": {m.To}, "message": {m.Text}}
	if a.From != "" {
		form.Set("from", a.From)
	}
	base := a.Base
	if base == "" {
		base = africasTalking
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+"/version1/messaging", strings.NewReader(form.Encode()))
	if err != nil {
		return "", refused("The URL for messages is not valid.")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("apiKey", a.APIKey)
	status, body, err := exchange(a.Client, req)
	if err != nil {
		return "", err
	}
	if err := judge(status); err != nil {
		return "", err
	}
	var answer atAnswer
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Data.Recipients) != 1 {
		// It may have been sent: another try could send it twice.
		return "", refused("Africa's Talking did not say what became of the message.")
	}
	r := answer.Data.Recipients[0]
	return r.MessageID, judgeAT(r.StatusCode)
}

// judgeAT reads the status of one recipient. 100 to 102 are on their way;
// codes in the 400s are about the number or the sender, save those about
// risk, balance and routes, which pass.
func judgeAT(code int) error {
	text := fmt.Sprintf("Africa's Talking answered status %d.", code)
	switch {
	case code >= 100 && code <= 102:
		return nil
	case code == 402 || code == 403 || code == 404 || code == 406 || code == 409:
		return refused(text)
	}
	return unavailable(text, nil)
}

package dialog

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// maxAnswer is more than any answer of a USSD server may have, in bytes.
const maxAnswer = 64 << 10

// Sender sends a request. http.Client.Do is one, Direct makes one.
type Sender func(*http.Request) (*http.Response, error)

// PhoneConfig is a handset and the network behind it.
type PhoneConfig struct {
	Send    Sender
	Base    string        // address of the server, such as http://localhost:3000
	Gateway *wire.Gateway // nil: the documented interface
	Number  string        // "" makes a new one
	Code    string        // "" is DefaultCode
	Mode    wire.Mode     // "": that of the gateway, else accumulated
	Secret  string        // of the gateway; "" sends none
	Limits  menu.Limits   // zero members: those of the gateway, else the standard
}

// Phone is a handset with at most one call. It is for one goroutine.
type Phone struct {
	c       PhoneConfig
	session string
	text    string
	step    int
	live    bool
	last    wire.Request
}

// Answer is the answer of the server.
type Answer struct {
	wire.Reply
	Raw   string // the body
	Took  time.Duration
	Units int
	UCS2  bool
	Limit int // of units, in the alphabet of the text
	// Wrong says what is wrong with framing and size; "" for nothing.
	Wrong string
	long  bool // Wrong is about the size
}

// Framed is the text with CON or END in front, in every gateway's form.
func (a Answer) Framed() string {
	if a.End {
		return "END " + a.Text
	}
	return "CON " + a.Text
}

// NewPhone makes a handset.
func NewPhone(c PhoneConfig) (*Phone, error) {
	if c.Gateway == nil {
		c.Gateway = wire.Plain()
	}
	c.Mode = cmp.Or(c.Mode, c.Gateway.Mode, wire.Accumulated)
	if c.Code == "" {
		c.Code = DefaultCode
	}
	if c.Number == "" {
		n, err := rand.Int(rand.Reader, big.NewInt(1e9))
		if err != nil {
			return nil, fmt.Errorf("make a number: %w", err)
		}
		c.Number = fmt.Sprintf("+254%09d", n)
	}
	if c.Limits.GSM7 == 0 {
		c.Limits.GSM7 = c.Gateway.Limits.GSM7
	}
	if c.Limits.UCS2 == 0 {
		c.Limits.UCS2 = c.Gateway.Limits.UCS2
	}
	c.Limits = c.Limits.OrStandard()
	return &Phone{c: c}, nil
}

// Number is the handset's number.
func (p *Phone) Number() string { return p.c.Number }

// Code is the service code it dials.
func (p *Phone) Code() string { return p.c.Code }

// Session is the id of the present or last call.
func (p *Phone) Session() string { return p.session }

// Live reports whether a call is in progress.
func (p *Phone) Live() bool { return p.live }

// Drop hangs up without telling the server, as networks do.
func (p *Phone) Drop() { p.live = false }

// Type dials if no call is in progress, with text as a deep dial; else it types
// the text.
func (p *Phone) Type(ctx context.Context, text string) (Answer, error) {
	return p.settle(p.deliver(ctx, p.next(text)))
}

// Again sends the last request once more.
func (p *Phone) Again(ctx context.Context) (Answer, error) {
	if p.last.SessionID == "" {
		return Answer{}, errors.New("nothing was sent yet")
	}
	return p.deliver(ctx, p.last)
}

// Double is Type with the request sent twice at once, as some networks do. It
// returns both answers.
func (p *Phone) Double(ctx context.Context, text string) (first, second Answer, err error) {
	q := p.next(text)
	var late error
	var wg sync.WaitGroup
	wg.Go(func() { second, late = p.deliver(ctx, q) })
	first, err = p.settle(p.deliver(ctx, q))
	wg.Wait()
	return first, second, errors.Join(err, late)
}

// next is the request of the next step.
func (p *Phone) next(text string) wire.Request {
	q := wire.Request{ServiceCode: p.c.Code, Phone: p.c.Number, Kind: wire.Input}
	switch {
	case !p.live:
		p.session, p.text, p.step, p.live = "sim-"+rand.Text(), text, 0, true
		q.Kind = wire.Start
	case p.text == "":
		p.text = text
	default:
		p.text += "*" + text
	}
	p.step++
	q.SessionID, q.Text, q.Step = p.session, text, strconv.Itoa(p.step)
	if p.c.Mode == wire.Accumulated {
		q.Text = p.text
	}
	p.last = q
	return q
}

// settle ends the call when the answer did. Trouble on the way ends nothing:
// the request may be delivered again.
func (p *Phone) settle(a Answer, err error) (Answer, error) {
	p.live = p.live && (err != nil || !a.End)
	return a, err
}

// deliver sends one request. The error is the network's; the Answer says what
// is wrong with itself.
func (p *Phone) deliver(ctx context.Context, q wire.Request) (Answer, error) {
	r, err := p.c.Gateway.NewRequest(ctx, p.c.Base, p.c.Secret, q)
	if err != nil {
		return Answer{}, err
	}
	start := time.Now()
	resp, err := p.c.Send(r)
	if err != nil {
		return Answer{}, fmt.Errorf("call the server: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return p.judge(resp, body, time.Since(start)), nil
}

// judge takes an answer apart and looks at framing and size.
func (p *Phone) judge(resp *http.Response, body []byte, took time.Duration) Answer {
	a := Answer{Raw: string(body), Took: took}
	var err error
	if a.Reply, err = p.c.Gateway.ReadReply(resp.Header.Get("Content-Type"), body); err != nil {
		a.Wrong = fmt.Sprintf("status %d: %v", resp.StatusCode, err)
		return a
	}
	a.Units, a.UCS2 = menu.Units(a.Text)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		a.Wrong = "status 429: over the rate limit of the server, which a gateway's secret lifts"
	case resp.StatusCode != http.StatusOK:
		a.Wrong = fmt.Sprintf("status %d, want 200", resp.StatusCode)
	case !utf8.ValidString(a.Text) || strings.ContainsFunc(a.Text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }):
		a.Wrong = "the screen holds characters no handset shows"
	case strings.TrimSpace(a.Text) == "":
		a.Wrong = "the screen is empty"
	}
	return a.Within(p.c.Limits)
}

// Limits sets the limits for checking further answers.
func (p *Phone) Limits(l menu.Limits) { p.c.Limits = l }

// Within checks the answer against other limits.
func (a Answer) Within(l menu.Limits) Answer {
	if a.long {
		a.Wrong = ""
	}
	if a.Limit = l.GSM7; a.UCS2 {
		a.Limit = l.UCS2
	}
	if a.long = a.Wrong == "" && a.Units > a.Limit; a.long {
		a.Wrong = fmt.Sprintf("the screen has %d units, at most %d", a.Units, a.Limit)
	}
	return a
}

// Direct sends requests to a handler in this process, as if from this machine.
func Direct(h http.Handler) Sender {
	return func(r *http.Request) (*http.Response, error) {
		in := r.Clone(r.Context())
		in.RemoteAddr, in.RequestURI = "127.0.0.1:1", r.URL.RequestURI()
		if in.Host == "" {
			in.Host = r.URL.Host
		}
		if in.Body == nil {
			in.Body = http.NoBody
		}
		w := &recorder{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(w, in)
		return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
	}
}

// recorder keeps what a handler answers.
type recorder struct {
	header http.Header
	status int
	sent   bool
	body   bytes.Buffer
}

// Header returns the headers of the answer.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the first status.
func (w *recorder) WriteHeader(status int) {
	if !w.sent {
		w.status, w.sent = status, true
	}
}

// Write keeps the body.
func (w *recorder) Write(b []byte) (int, error) {
	w.sent = true
	return w.body.Write(b)
}

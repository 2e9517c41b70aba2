package dialog_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// sent keeps what a phone sends.
func sent(t *testing.T, c dialog.PhoneConfig) (*dialog.Phone, *[]wire.Request) {
	t.Helper()
	l := newLine(t)
	var all []wire.Request
	c.Send = func(r *http.Request) (*http.Response, error) {
		if r.Header.Get(wire.SecretHeader) != c.Secret {
			t.Errorf("secret = %q, want %q", r.Header.Get(wire.SecretHeader), c.Secret)
		}
		body := make([]byte, max(r.ContentLength, 0))
		if r.Body != nil {
			if _, err := r.Body.Read(body); err != nil && err.Error() != "EOF" {
				t.Error(err)
			}
		}
		q, err := wire.Read(r, body, c.Gateway)
		if err != nil {
			t.Error(err)
		}
		all = append(all, q)
		again, err := r.GetBody()
		if err != nil {
			t.Error(err)
		}
		r.Body = again
		return dialog.Direct(l)(r)
	}
	c.Base = "http://line.test"
	p, err := dialog.NewPhone(c)
	if err != nil {
		t.Fatal(err)
	}
	return p, &all
}

func TestPhoneText(t *testing.T) {
	t.Parallel()
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		gateway string
		mode    wire.Mode
		want    string
	}{
		{"", "", ",2,2*C12345678,2*C12345678*48213"},
		{"", wire.Latest, ",2,C12345678,48213"},
		{"africastalking", "", ",2,2*C12345678,2*C12345678*48213"},
		{"hubtel", "", ",2,C12345678,48213"},
	} {
		p, all := sent(t, dialog.PhoneConfig{Gateway: set.Get(tt.gateway), Mode: tt.mode, Secret: "s3cr3t"})
		for _, in := range []string{"", "2", "C12345678", "48213"} {
			if a, err := p.Type(t.Context(), in); err != nil || a.Wrong != "" || a.End {
				t.Fatalf("%s: Type(%q) = %+v, %v", tt.gateway, in, a, err)
			}
		}
		var texts, ids []string
		for _, q := range *all {
			texts, ids = append(texts, q.Text), append(ids, q.SessionID)
		}
		if got := strings.Join(texts, ","); got != tt.want || ids[0] != ids[3] || (*all)[0].Phone != p.Number() {
			t.Errorf("%s %s: texts = %s, want %s; ids = %v", tt.gateway, tt.mode, got, tt.want, ids)
		}
		p.Drop()
		if a, err := p.Type(t.Context(), "1"); err != nil || p.Session() == ids[0] || !strings.Contains(a.Text, "98. More") {
			t.Errorf("after Drop: %+v, %v, want a deep dial of a new call", a, err)
		}
	}
}

func TestPhoneTrouble(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	down := false
	p, err := dialog.NewPhone(dialog.PhoneConfig{Base: "http://line.test", Send: func(r *http.Request) (*http.Response, error) {
		if down {
			return nil, errors.New("no line")
		}
		return dialog.Direct(l)(r)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Again(t.Context()); err == nil {
		t.Error("Again() before anything was sent is no error")
	}
	if _, err := p.Type(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	down = true
	if _, err := p.Type(t.Context(), "2"); err == nil || !p.Live() {
		t.Errorf("Type() = %v, live %v, want an error and the call still up", err, p.Live())
	}
	down = false
	if a, err := p.Again(t.Context()); err != nil || !strings.Contains(a.Text, "Customer ID") {
		t.Errorf("Again() = %+v, %v, want the step that was lost", a, err)
	}
	if a, err := p.Type(t.Context(), "0"); err != nil || !strings.Contains(a.Text, "Welcome") {
		t.Errorf("Type() = %+v, %v", a, err)
	}
	if a, err := p.Type(t.Context(), "*"); err != nil || !a.End || p.Live() || a.Framed() != "END Goodbye." {
		t.Errorf("Type() = %+v, %v, want the end", a, err)
	}
}

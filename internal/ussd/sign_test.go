package ussd_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

const sharedSecret = "gateway-secret-16"

// signers are two gateways that sign, each in its way.
const signers = `gateway: plain
request: {format: json, session: s, phone: p, text: t, default: {code: "*2233#"}}
reply: {format: text}
signature: {header: X-Signature, time: X-Time}
---
gateway: long
request: {format: json, session: s, phone: p, text: t, default: {code: "*2233#"}}
reply: {format: text}
signature: {header: X-Hub, hash: sha512, encoding: base64}
`

// TestSignatures admits what is signed with the secret over the very body, and
// lately where it says when; nothing else counts for a gateway that signs.
func TestSignatures(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		file := filepath.Join(t.TempDir(), "gateways.yaml")
		if err := os.WriteFile(file, []byte(signers), 0o600); err != nil {
			t.Fatal(err)
		}
		set := must(wire.Open(file))(t)
		c := newClock()
		l := newLine(t, d, c, func(cfg *ussd.Config) { cfg.Gateways, cfg.GatewaySecret, cfg.RateLimit = set, sharedSecret, 100 })
		const body = `{"s":"s1","p":"+254700000001","t":""}`
		short, long := hmac.New(sha256.New, []byte(sharedSecret)), hmac.New(sha512.New, []byte(sharedSecret))
		short.Write([]byte(body))
		long.Write([]byte(body))
		good, better := hex.EncodeToString(short.Sum(nil)), base64.StdEncoding.EncodeToString(long.Sum(nil))
		at := func(age time.Duration) string { return strconv.FormatInt(c.now().Add(-age).Unix(), 10) }
		for _, tt := range []struct {
			name, gateway, body string
			headers             map[string]string
			status              int
		}{
			{"signed", "plain", body, map[string]string{"X-Signature": good}, 200},
			{"with the name of the hash", "plain", body, map[string]string{"X-Signature": "sha256=" + good}, 200},
			{"in time", "plain", body, map[string]string{"X-Signature": good, "X-Time": at(4 * time.Minute)}, 200},
			{"in time, as text", "plain", body, map[string]string{"X-Signature": good, "X-Time": c.now().Format(time.RFC3339)}, 200},
			{"old", "plain", body, map[string]string{"X-Signature": good, "X-Time": at(6 * time.Minute)}, 403},
			{"of the future", "plain", body, map[string]string{"X-Signature": good, "X-Time": at(-6 * time.Minute)}, 403},
			{"no time", "plain", body, map[string]string{"X-Signature": good, "X-Time": "yesterday"}, 403},
			{"another body", "plain", body + " ", map[string]string{"X-Signature": good}, 403},
			{"not signed", "plain", body, nil, 403},
			{"the secret alone", "plain", body, map[string]string{"X-Gateway-Secret": sharedSecret}, 403},
			{"no hex", "plain", body, map[string]string{"X-Signature": "zz"}, 403},
			{"SHA-512 in base64", "long", body, map[string]string{"X-Hub": better}, 200},
			{"in hex", "long", body, map[string]string{"X-Hub": hex.EncodeToString(long.Sum(nil))}, 403},
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/ussd/"+tt.gateway, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			for name, v := range tt.headers {
				r.Header.Set(name, v)
			}
			w := httptest.NewRecorder()
			l.http.ServeHTTP(w, r)
			if w.Code != tt.status || tt.status == 200 && !strings.HasPrefix(w.Body.String(), atHome) {
				t.Errorf("%s = %d %s, want %d", tt.name, w.Code, w.Body, tt.status)
			}
			if counted := w.Header().Get("X-Ratelimit-Limit") != ""; counted == (tt.status == 200) {
				t.Errorf("%s: counted by address = %v", tt.name, counted)
			}
		}
	})
}

// TestSimulatorsSign makes requests that the line takes for those of a gateway that signs.
func TestSimulatorsSign(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "gateways.yaml")
	if err := os.WriteFile(file, []byte(signers), 0o600); err != nil {
		t.Fatal(err)
	}
	set := must(wire.Open(file))(t)
	l := newLine(t, dbtest.SQLite(t), newClock(), func(cfg *ussd.Config) {
		cfg.Gateways, cfg.GatewaySecret, cfg.GatewayOnly, cfg.Now = set, sharedSecret, true, time.Now
	})
	for _, name := range []string{"plain", "long", "hubtel"} {
		for secret, status := range map[string]int{sharedSecret: 200, "": 403, "another-secret-1": 403} {
			q := wire.Request{SessionID: "s1", ServiceCode: "*2233#", Phone: phone1, Kind: wire.Start}
			r := must(set.Get(name).NewRequest(t.Context(), "http://line.test", secret, q))(t)
			w := httptest.NewRecorder()
			if l.http.ServeHTTP(w, r); w.Code != status {
				t.Errorf("%s with the secret %q = %d %s, want %d", name, secret, w.Code, w.Body, status)
			}
		}
	}
}

// TestSecretInTheQuery counts on POST as on GET, and stands in no log.
func TestSecretInTheQuery(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var log strings.Builder
		l := newLine(t, d, newClock(), func(c *ussd.Config) {
			c.GatewaySecret, c.GatewayOnly = sharedSecret, true
			c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for _, tt := range []struct {
			query, body string
			status      int
		}{
			{"?secret=" + sharedSecret, body("s1", phone1, ""), 200},
			{"?secret=" + sharedSecret, "{", 200},
			{"?secret=wrong-secret-123", body("s1", phone1, ""), 403},
			{"", body("s1", phone1, ""), 403},
		} {
			if got := l.post("/api/ussd"+tt.query, "application/json", tt.body); got.Code != tt.status {
				t.Errorf("POST %s = %d %s, want %d", tt.query, got.Code, got.Body, tt.status)
			}
		}
		if got := l.get("/api/ussd/get?secret=" + sharedSecret + "&session_id=g&msisdn=254700000001&service_code=2233&message="); got.Code != 200 {
			t.Errorf("GET = %d %s", got.Code, got.Body)
		}
		if got := log.String(); strings.Contains(got, "secret-1") {
			t.Errorf("the log has the secret: %s", got)
		}
	})
}

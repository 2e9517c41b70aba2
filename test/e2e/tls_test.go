package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// certificate writes a certificate for 127.0.0.1 and its key, and returns a
// pool that trusts it.
func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, data := range map[string][]byte{cert: chain, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(chain)
	return cert, key, pool
}

// TestGatewayCertificate: on a server that takes gateways only, whoever shows a
// certificate of their authority gets a screen.
func TestGatewayCertificate(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t, t.TempDir())
	p := launch(t, "PORT=0", "HOST=127.0.0.1", "HEARTH_DATA_DIR="+t.TempDir(), "HEARTH_OWNER_KEY="+server.OwnerKey, "HEARTH_TLS_CERT="+cert, "HEARTH_TLS_KEY="+key,
		"USSD_GATEWAY_CA="+cert, "USSD_GATEWAY_ONLY=true")
	base := p.address("hearth")
	own, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range [][]tls.Certificate{nil, {own}} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: shown}}
		defer transport.CloseIdleConnections()
		body := strings.NewReader(`{"sessionId":"s","serviceCode":"*2233#","phoneNumber":"+254700000001","text":""}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/ussd", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || strings.HasPrefix(string(answer), "CON ") != (shown != nil) {
			t.Errorf("with %d certificates: %d %s, %v", len(shown), res.StatusCode, answer, err)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t, t.TempDir())
	p := launch(t, "PORT=0", "HOST=127.0.0.1", "HEARTH_DATA_DIR="+t.TempDir(), "HEARTH_OWNER_KEY="+server.OwnerKey, "HEARTH_TLS_CERT="+cert, "HEARTH_TLS_KEY="+key)
	base := p.address("hearth")
	if !strings.HasPrefix(base, "https://127.0.0.1:") {
		t.Fatalf("address = %q, want https", base)
	}
	for _, h2 := range []bool{false, true} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: h2}
		defer tr.CloseIdleConnections()
		c, err := client.New(client.Config{BaseURL: base, Key: server.OwnerKey, HTTP: &http.Client{Transport: tr}})
		if err != nil {
			t.Fatal(err)
		}
		var m client.Meta
		k, err := c.Keys.Create(t.Context(), draft("over TLS"), client.WithMeta(&m))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("Strict-Transport-Security = %q", got)
		}
		for ev, err := range c.Events.Stream(t.Context(), client.StreamQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Subject == k.ID {
				break
			}
		}
	}
	old := &tls.Dialer{Config: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}}
	if conn, err := old.DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "https://")); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is accepted")
	}
	if res, _ := fetch(t, strings.Replace(base, "https", "http", 1)+"/health"); res.StatusCode != 400 {
		t.Errorf("plain HTTP on the port = %d, want 400", res.StatusCode)
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	got := run(t, []string{"PORT=0", "HEARTH_DATA_DIR=" + t.TempDir(), "HEARTH_TLS_CERT=" + cert, "HEARTH_TLS_KEY=" + cert}, "serve")
	if got.code == 0 || !strings.Contains(got.err, "certificate") {
		t.Errorf("a key that is none: code %d, %q; want a refusal that says so", got.code, got.err)
	}
}
